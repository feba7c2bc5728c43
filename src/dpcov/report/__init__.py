"""One rendering of each result: as text, as JSON and as a picture."""
