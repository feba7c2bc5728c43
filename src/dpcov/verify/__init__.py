"""Try to break it."""
