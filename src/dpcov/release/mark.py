"""What a release knows of the ledger that it was charged to."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dpcov.errors import ReleaseError

HEX = re.compile(r"[0-9a-f]+")


@dataclass(frozen=True)
class Mark:
    """The entry of a ledger that paid for a release.

    Attributes
    ----------
    ledger : str
        Which ledger: 32 random hexadecimal digits.
    entry : int
        The sequence number of the spend.
    head : str
        The hash of that entry, which covers all before it: a ledger that was put back to an earlier state does not have it.
    """

    ledger: str
    entry: int
    head: str

    def __post_init__(self) -> None:
        written = all(type(text) is str and HEX.fullmatch(text) for text in (self.ledger, self.head))
        if not written or (len(self.ledger), len(self.head)) != (32, 64) or not 1 <= self.entry < 2**63:
            raise ReleaseError(
                "release file must be consistent, got a mark of a ledger that none writes. Hint: ask for the file anew."
            )
