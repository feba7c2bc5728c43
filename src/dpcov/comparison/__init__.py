"""Choose before spending: the errors of all mechanisms on public or made-up rows."""

from dpcov.comparison.result import Cell, Comparison
from dpcov.comparison.run import compare

__all__ = ["Cell", "Comparison", "compare"]
