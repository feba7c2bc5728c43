"""What may be asked of rows, with its sensitivity."""
