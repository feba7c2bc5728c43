"""What is neither copied nor pickled: exact numbers must not leave their process, and what is left to spend exists once."""

from __future__ import annotations

from typing import NoReturn

from dpcov.errors import ParameterError


class Held:
    """An object that stays where it is."""

    def __reduce__(self) -> NoReturn:
        raise ParameterError(
            f"{type(self).__name__} must stay where its rows are, got a copy or a pickle of it. Hint: copy the release."
        )
