"""Choose before spending: predictions from public numbers, and the errors of all mechanisms on public or made-up rows."""

from dpcov.evaluate.comparing import compare
from dpcov.evaluate.comparison import Cell, Comparison

__all__ = ["Cell", "Comparison", "compare"]
