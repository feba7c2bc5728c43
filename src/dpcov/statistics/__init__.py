"""Sums over rows of bounded integer maps, with their sensitivities."""
