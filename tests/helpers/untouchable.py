"""What must not be read."""

from __future__ import annotations


class Untouchable:
    """A table that must not be opened."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise AssertionError("the data were read")
