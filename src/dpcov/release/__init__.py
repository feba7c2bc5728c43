"""The record of what was asked and answered, and how to read it."""
