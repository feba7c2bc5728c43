"""What can be done with a release, and with nothing else: no row is read, no budget is spent."""
