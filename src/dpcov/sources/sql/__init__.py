"""Sums that a database makes itself: one statement for each reading, and the same integers as this process would add up."""
