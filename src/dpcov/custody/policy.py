"""What releases of a data set must keep to, beside its total: a policy, which stands in the ledger and is changed by an entry.

As a file, in TOML; every line may be left out::

    rho = 0.1                       # the most that one release may cost, in its notion
    epsilon = 0.5
    delta = 1e-8
    mechanisms = ["gaussian", "standardized"]
    neighbors = "replace"
    schema = "adult.toml"           # beside this file
    second_person = true
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from dpcov.custody.people import checked_text
from dpcov.errors import BudgetError, EngineError, ParameterError, did_you_mean, raise_alone, shown
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, Exact, PureDP, decimal_text, read_exact
from dpcov.kernel.questions.moments import check_neighbors
from dpcov.schema import Schema
from dpcov.schema.file import digest

AMOUNTS = ("epsilon", "delta", "rho")
KEYS = (*AMOUNTS, "mechanisms", "neighbors", "schema", "second_person")
CHANGE = "`dpcov ledger policy` shows it, and changes it"


@dataclass(frozen=True, init=False)
class Policy:
    """What every release of a data set must keep to.

    Parameters
    ----------
    epsilon, delta, rho : number, optional
        The most that one release may cost, as the ledger counts it. With any of them, a release in a notion that has no limit
        is refused; a pure one under a limit of ρ alone counts ε²/2.
    mechanisms : sequence of str, optional
        Those that may run: "auto" is no name of one, but what it stands for is.
    neighbors : {"replace", "add-remove"}, optional
        The relation that releases must be made for.
    schema : Schema, optional
        The schema that releases must be made with: its hash is kept, and no other schema is accepted.
    second_person : bool
        Whether each release, and each change of this policy, needs the approval of another user: `Ledger.approve`.

    Examples
    --------
    >>> import dpcov
    >>> dpcov.Policy(rho=0.1, mechanisms=["gaussian"], second_person=True)
    Policy(rho=0.1, mechanisms=('gaussian',), second_person=True)
    """

    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None
    mechanisms: tuple[str, ...] | None
    neighbors: str | None
    schema: str | None
    second_person: bool

    def __init__(
        self,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        mechanisms: Sequence[str] | None = None,
        neighbors: str | None = None,
        schema: Schema | str | None = None,
        second_person: bool = False,
    ) -> None:
        for name, amount in (("epsilon", epsilon), ("delta", delta), ("rho", rho)):
            object.__setattr__(self, name, None if amount is None else _positive(name, amount))
        if self.delta is not None and self.epsilon is None:
            raise ParameterError("delta must come with epsilon in a policy, got it alone. Hint: give epsilon, too.")
        if mechanisms is not None and (isinstance(mechanisms, str) or not isinstance(mechanisms, Sequence) or not mechanisms):
            raise ParameterError(
                f"mechanisms must be a list of names, got {shown(mechanisms)}. Hint: give a list, of one name, too."
            )
        names = None if mechanisms is None else tuple(checked_text("mechanisms", name, least=1) for name in mechanisms)
        if neighbors is not None:
            check_neighbors(neighbors)
        if not isinstance(second_person, bool):
            raise ParameterError(
                f"second_person must be True or False, got {shown(second_person)}. Hint: False is the default."
            )
        if schema is not None and not isinstance(schema, Schema) and not is_digest(schema):
            raise ParameterError(f"schema must be a Schema, got {shown(schema)}. Hint: dpcov.Schema.read('schema.toml').")
        object.__setattr__(self, "mechanisms", names)
        object.__setattr__(self, "neighbors", neighbors)
        object.__setattr__(self, "schema", digest(schema) if isinstance(schema, Schema) else schema)
        object.__setattr__(self, "second_person", second_person)

    def __repr__(self) -> str:
        told = {name: getattr(self, name) for name in KEYS if getattr(self, name)}
        words = (f"{name}={decimal_text(it) if isinstance(it, Fraction) else repr(it)}" for name, it in told.items())
        return f"Policy({', '.join(words)})"

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a policy from a TOML file; the schema that it names is read as well."""
        from dpcov.schema.file import read

        if not isinstance(path, str | os.PathLike):
            raise ParameterError(f"policy must be a Policy or the path of one, got {shown(path)}. Hint: dpcov.Policy(rho=0.1).")
        try:
            record = tomllib.loads(Path(path).read_text(encoding="utf-8"), parse_float=str)
        except OSError as error:
            raise EngineError(
                f"policy must be a file that can be read, got {str(path)!r} ({error.strerror}). Hint: check the path."
            ) from None
        except ValueError:
            raise_alone(
                ParameterError(
                    f"policy must be a file in TOML, got {Path(path).name!r}, which is none. Hint: docs/ledger.md shows one."
                )
            )
        for key in record:
            if key not in KEYS:
                raise ParameterError(
                    f"policy must have no other keys than {', '.join(KEYS)}, got {shown(key)}. "
                    f"Hint: {did_you_mean(key, KEYS)}remove it."
                )
        if (schema := record.pop("schema", None)) is not None:
            record["schema"] = read(Path(path).parent / checked_text("schema", schema, least=1))
        return cls(**record)

    def to_json(self) -> dict[str, Any]:
        """Return what an entry holds of it: amounts as exact text."""
        told = {name: str(getattr(self, name)) for name in AMOUNTS if getattr(self, name) is not None}
        others = {
            name: getattr(self, name) for name in ("mechanisms", "neighbors", "schema") if getattr(self, name) is not None
        }
        listed = {name: list(it) if isinstance(it, tuple) else it for name, it in others.items()}
        return {**told, **listed, "second_person": self.second_person}

    def lines(self) -> list[str]:
        """Return what it says, a rule to a line, for people."""
        said = [f"at most {name} = {decimal_text(getattr(self, name))} a release" for name in AMOUNTS if getattr(self, name)]
        if self.mechanisms is not None:
            said.append("mechanisms: " + ", ".join(self.mechanisms))
        if self.neighbors is not None:
            said.append(f"neighbors: {self.neighbors}")
        if self.schema is not None:
            said.append(f"schema: {self.schema[:23]}…")
        if self.second_person:
            said.append("a second person approves each release, and each change of this policy")
        return said or ["no rules beside the total"]

    def refuse(self, counted: Budget, neighbors: str, what: Mapping[str, Any]) -> None:
        """Refuse a release that does not keep to it; of its mechanism as far as that is known."""
        if self.neighbors not in (None, neighbors):
            raise ParameterError(
                f"neighbors must be {self.neighbors!r} by the ledger's policy, got {neighbors!r}. Hint: {CHANGE}."
            )
        if self.schema is not None and what.get("schema") != self.schema:
            got = "another one" if "schema" in what else "none"
            raise ParameterError(f"schema must be that of the ledger's policy, got {got}. Hint: {CHANGE}.")
        self._refuse_amounts(counted)
        resolved = what.get("resolved")
        if self.mechanisms is not None and resolved is not None and resolved not in self.mechanisms:
            stands = f", which {what['mechanism']!r} stands for here" if what.get("mechanism") != resolved else ""
            allowed = ", ".join(map(repr, self.mechanisms))
            raise ParameterError(
                f"mechanism must be one that the ledger's policy allows: {allowed}, got {resolved!r}{stands}. Hint: {CHANGE}."
            )

    def _refuse_amounts(self, counted: Budget) -> None:
        limits = {name: getattr(self, name) for name in AMOUNTS if getattr(self, name) is not None}
        if not limits:
            return
        if isinstance(counted, PureDP) and "epsilon" not in limits:
            counted = counted.to_zcdp()
        for name, amount in zip(counted.names, counted.amounts(), strict=True):
            if name not in limits:
                raise ParameterError(
                    f"budget must be in a notion for which the ledger's policy has a limit, got {counted!r}. "
                    f"Hint: there are limits of {' and '.join(limits)}; {CHANGE}."
                )
            if amount > limits[name]:
                raise BudgetError(
                    f"{name} must be at most {decimal_text(limits[name])} a release by the ledger's policy, "
                    f"got {decimal_text(amount)}. Hint: ask for less; {CHANGE}."
                )


def is_digest(text: object) -> bool:
    """Whether this is the hash of a schema, as an entry has it."""
    return isinstance(text, str) and re.fullmatch("sha256:[0-9a-f]{64}", text) is not None


def checked_policy(policy: object) -> Policy | None:
    """Return a policy, read from a file where that is given; None for none."""
    return policy if policy is None or isinstance(policy, Policy) else Policy.read(policy)  # type: ignore[arg-type]  # which refuses


def _positive(name: str, amount: Exact) -> Fraction:
    """Return an amount that a budget may have."""
    kinds = {"epsilon": PureDP, "rho": ZCDP}
    if name in kinds:
        return kinds[name](amount).amounts()[0]
    return ApproxDP(1, read_exact(name, amount)).delta
