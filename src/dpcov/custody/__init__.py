"""Budgets that survive crashes, races and edits: a ledger of all that was spent on each data set."""
