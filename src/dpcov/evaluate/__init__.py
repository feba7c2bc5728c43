"""Choose before spending: the errors of all mechanisms on public or made-up rows."""

from dpcov.evaluate.comparing import compare
from dpcov.evaluate.comparison import Cell, Comparison

__all__ = ["Cell", "Comparison", "compare"]
