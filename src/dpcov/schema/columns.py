"""What a schema says of a column: numbers between public bounds, public levels, or nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, check_choice, check_real, first_repeated, shown
from dpcov.schema import dates
from dpcov.schema.transforms import TRANSFORMS

if TYPE_CHECKING:
    from datetime import date

Floats = NDArray[np.float64]
Level = str | int | float | bool

LARGEST = 1e130  # of bounds: with any weights, the square of what one encoded unit stands for is then finite
SMALLEST = 1e-130  # of ranges: that square is then not 0
LEVEL_TYPES: dict[str, tuple[type, ...]] = {"text": (str,), "boolean": (bool,), "number": (int, float)}


@dataclass(frozen=True)
class Numeric:
    """A column of numbers with public bounds: values outside are clipped; missing ones are left out, or count as the midpoint.

    Parameters
    ----------
    lower, upper : float or date
        The bounds, from public knowledge: never look them up in the data. Dates (``datetime.date``, with times
        ``datetime.datetime``, or ISO text) say that cells are dates; they count in days since 1970-01-01.
    weight : float
        A larger weight gives the column more of the accuracy, at the expense of the others.
    nullable : bool
        True says that cells may be missing: the share that is there is then released (docs/tables.md).
    missing : {"flag"}, optional
        "flag" adds a column that says which cells are there.
    integer : bool
        True says that cells are whole numbers, and makes synthetic ones whole; estimates are not rounded.
    transform : {"log", "sqrt", "square"}, optional
        What is released in place of the cells: they are clipped to the bounds, which are those of the cells, and then
        transformed. The feature is called ``log(NAME)``, unless ``of`` says that the column has a name of its own.
    of : str, optional
        The column of the table, where that has another name: ``Numeric(17, 90, of="age", transform="square")``.
    about : float, optional
        A public number, subtracted from the clipped cells before anything else is done to them: a square about 45 is
        (x − 45)², which hardly goes with x itself.
    dates : {"date", "datetime"}, optional
        That numbers are days since 1970-01-01; bounds that are dates say so themselves.

    Examples
    --------
    >>> Numeric(0, 100).midpoint
    50.0
    >>> Numeric("1970-01-01", "1970-12-31").upper
    364.0
    """

    lower: float  # a date is turned into days
    upper: float
    weight: float = 1.0
    nullable: bool = False
    missing: str | None = None
    integer: bool = False
    transform: str | None = None
    of: str | None = None
    dates: str | None = None
    about: float | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            lower: float | date | str,
            upper: float | date | str,
            weight: float = 1.0,
            nullable: bool = False,
            missing: str | None = None,
            integer: bool = False,
            transform: str | None = None,
            of: str | None = None,
            dates: str | None = None,
            about: float | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        hint = "write a public bound; one read from the data would leak"
        rule = f"a finite number between {-LARGEST:g} and {LARGEST:g}, or a date such as 2019-01-31"
        self._take_dates()
        for name in ("lower", "upper"):
            object.__setattr__(self, name, check_real(name, getattr(self, name), rule, -LARGEST, LARGEST, hint))
        if not self.upper - self.lower >= SMALLEST:
            found = f"{self.lower!r} and {self.upper!r}"
            raise ParameterError(f"lower must be below upper by at least {SMALLEST:g}, got {found}. Hint: are they swapped?")
        object.__setattr__(self, "weight", checked_weight(self.weight))
        _check_missing(self.nullable, self.missing)
        if type(self.integer) is not bool:
            raise ParameterError(f"integer must be True or False, got {shown(self.integer)}. Hint: True for whole numbers.")
        if self.integer and not math.ceil(self.lower) <= math.floor(self.upper):
            found = f"{self.lower!r} and {self.upper!r}"
            raise ParameterError(
                f"bounds must have a whole number between them with integer=True, got {found}. Hint: widen them."
            )
        _check_of(self.of)
        if self.about is not None:
            rule = f"a finite number between {-LARGEST:g} and {LARGEST:g}"
            value = check_real(
                "about", self.about, rule, -LARGEST, LARGEST, "a public number, such as the middle of the bounds"
            )
            object.__setattr__(self, "about", value)
        if self.transform is not None:
            check_choice("transform", self.transform, TRANSFORMS, "leave it out for the cells as they are")
            if not TRANSFORMS[self.transform].allows(self.lower - (self.about or 0.0)):
                rule = TRANSFORMS[self.transform].rule
                less = "" if self.about is None else f" less about = {self.about:g}"
                raise ParameterError(
                    f"lower{less} must be {rule} for transform={self.transform!r}, got {self.lower!r}. "
                    f"Hint: raise the bound; cells below count as it."
                )

    @property
    def computes(self) -> bool:
        """Whether something else is released than the cells themselves."""
        return self.transform is not None or self.about is not None

    def image(self) -> tuple[float, float]:
        """Return the least and the largest number that cells within the bounds become."""
        lower, upper = (end - (self.about or 0.0) for end in (self.lower, self.upper))
        return (lower, upper) if self.transform is None else TRANSFORMS[self.transform].image(lower, upper)

    def _take_dates(self) -> None:
        """Turn bounds that are dates into days, or refuse what does not go with them."""
        lower, upper = (dates.bound(name, getattr(self, name)) for name in ("lower", "upper"))
        if (lower is None) != (upper is None):
            raise ParameterError(
                "lower and upper must both be dates or both be numbers, got one of each. Hint: 2019-01-31 is a date."
            )
        if lower is not None and upper is not None:
            kind = dates.DATETIME if dates.DATETIME in (lower[1], upper[1]) else dates.DATE
            for name, value in (("lower", lower[0]), ("upper", upper[0]), ("dates", kind)):
                object.__setattr__(self, name, value)
        if self.dates is None:
            return
        check_choice("dates", self.dates, (dates.DATE, dates.DATETIME), "bounds that are dates say so themselves")
        for name in ("lower", "upper"):
            check_real(name, getattr(self, name), "a day of the years 1 to 9999", dates.FIRST, dates.LAST, "2019-01-31 is one")
        for name in ("transform", "about"):
            if getattr(self, name) is not None:
                raise ParameterError(
                    f"{name} must be left out for dates, got {shown(getattr(self, name))}. Hint: days have no natural zero."
                )
        if self.integer:
            raise ParameterError(
                "integer must be left out for dates, got True. Hint: days are whole where bounds have no times."
            )

    def cells(self, name: str) -> tuple[tuple[str, Numeric | Categorical], ...]:
        """Return the columns of the table that it is made of, each with what its cells are."""
        return ((self.of or name, self),)

    def features(self, name: str) -> tuple[str, ...]:
        """Return the names of its features, where the column itself has this name."""
        return (name,)

    def clipped(self, cells: Floats) -> Floats:
        """Return cells within the bounds, transformed; NaN where a cell is missing or infinite: each cell by itself."""
        with np.errstate(all="ignore"):
            inside = np.where(np.isfinite(cells), np.clip(cells, self.lower, self.upper), np.nan)
            inside = inside if self.about is None else inside - self.about
            return inside if self.transform is None else TRANSFORMS[self.transform].apply(inside)

    def undone(self, numbers: Floats) -> Floats:
        """Return cells from what was made of them, as far as that tells."""
        about = self.about or 0.0
        undo = None if self.transform is None else TRANSFORMS[self.transform].undo
        return (numbers if undo is None else undo(numbers, self.lower - about, self.upper - about)) + about

    @property
    def midpoint(self) -> float:
        """What missing values count as, where a table is not measured in private units."""
        return self.lower / 2 + self.upper / 2

    def offset(self, center: bool) -> float:
        """Return the value that is encoded as 0: the midpoint; 0 where the second moment about 0 is wanted."""
        check_center(center)
        return self.midpoint if center else 0.0

    def reach(self, center: bool) -> float:
        """Return the largest distance from the offset that the bounds allow."""
        check_center(center)
        return self.upper / 2 - self.lower / 2 if center else max(abs(self.lower), abs(self.upper))


@dataclass(frozen=True)
class Categorical:
    """A column of categories with public levels: all text, all numbers, or true and false.

    Parameters
    ----------
    levels : list
        All categories that there can be, from public knowledge; a cell that is none of them counts as missing.
    weight, nullable, missing, of
        As in `Numeric`.

    Examples
    --------
    >>> Categorical(["Female", "Male"]).names
    ('Female', 'Male')
    """

    levels: Sequence[Level]
    weight: float = 1.0
    nullable: bool = False
    missing: str | None = None
    of: str | None = None

    def __post_init__(self) -> None:
        levels = self.levels
        if isinstance(levels, str | bytes) or not isinstance(levels, Sequence):
            raise ParameterError(f"levels must be a list, got {shown(levels)}. Hint: levels = ['no', 'yes'].")
        plain = (level.item() if isinstance(level, np.generic) else level for level in levels)
        object.__setattr__(self, "levels", tuple(plain))
        object.__setattr__(self, "weight", checked_weight(self.weight))
        _check_missing(self.nullable, self.missing)
        if not self.levels:
            raise ParameterError(
                "levels must hold at least one level, got none. Hint: list public values, not those found in the data."
            )
        kinds = {next((kind for kind, types in LEVEL_TYPES.items() if type(level) in types), "other") for level in self.levels}
        if len(kinds) > 1 or "other" in kinds:
            raise ParameterError(
                f"levels must be all text, all numbers or all true and false, got {sorted(kinds)}. Hint: quote all of them."
            )
        if not all(_is_exact(level) for level in self.levels if not isinstance(level, str)):
            hint = "leave out a level for missing cells; write long identifiers as text"
            raise ParameterError(f"levels must be finite, and integers at most 2**53, got a number that is not. Hint: {hint}.")
        if len(set(self.levels)) < len(self.levels):
            raise ParameterError(f"levels must differ, got {first_repeated(self.levels)} twice. Hint: remove one of them.")
        _check_of(self.of)

    def cells(self, name: str) -> tuple[tuple[str, Numeric | Categorical], ...]:
        """Return the column of the table that it is, with what its cells are."""
        return ((self.of or name, self),)

    def features(self, name: str) -> tuple[str, ...]:
        """Return the names of its features, one for each level."""
        return tuple(f"{name}={level}" for level in self.names)

    @property
    def kind(self) -> str:
        """One of "text", "number" and "boolean": how cells are compared with the levels."""
        return next(kind for kind, types in LEVEL_TYPES.items() if type(self.levels[0]) in types)

    @property
    def names(self) -> tuple[str, ...]:
        """The levels as text."""
        return tuple(str(level).lower() if isinstance(level, bool) else str(level) for level in self.levels)


@dataclass(frozen=True)
class Observed(Categorical):
    """Whether the cells of a ``column`` are there: what ``missing="flag"`` adds to it."""

    levels: Sequence[Level] = (False, True)
    column: Described | None = None

    def cells(self, name: str) -> tuple[tuple[str, Numeric | Categorical], ...]:
        """Return the column of the table whose cells are looked for."""
        assert self.column is not None
        return ((self.of or name, self.column),)


@dataclass(frozen=True)
class Ignored:
    """A column that is never read."""


Described = Numeric | Categorical
"""What cells can be."""


def checked_weight(weight: object) -> float:
    """Return a weight, or refuse it."""
    return check_real("weight", weight, "between 1e-6 and 1e6", 1e-6, 1e6, "1 is the default; weights are relative")


def _check_of(of: object) -> None:
    if of is not None and (not isinstance(of, str) or not of or is_broken(of)):
        raise ParameterError(f'of must be the name of a column of the table, got {shown(of)}. Hint: of = "income".')


def check_center(center: object) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(center, bool):
        raise ParameterError(f"center must be True or False, got {shown(center)}. Hint: True where rows are centred.")


def _check_missing(nullable: object, missing: object) -> None:
    if type(nullable) is not bool:
        raise ParameterError(f"nullable must be True or False, got {shown(nullable)}. Hint: True if cells may be missing.")
    if missing is not None and not (isinstance(missing, str) and missing == "flag" and nullable):
        raise ParameterError(
            f"missing must be 'flag' for a nullable column, or left out, got {shown(missing)}. Hint: leave it out."
        )


def _is_exact(level: float) -> bool:
    """Whether float64, to which cells are converted, holds the level."""
    return abs(level) <= 2**53 if isinstance(level, int) else math.isfinite(level)


def is_broken(text: str) -> bool:
    """Whether the text holds half of a surrogate pair, which no file can store."""
    return any("\ud800" <= character <= "\udfff" for character in text)
