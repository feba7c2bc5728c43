"""A row becomes integers of bounded norm."""
