"""The net under a renovation: what every mechanism estimates from literal seeds, recorded once and compared at every step.

``python -m tests.net record`` writes tests/net.json, ``python -m tests.net compare`` says what differs from it. An estimate is
recorded by a weighted sum, which must agree to 1e-12 of its size: noise draws, formulas and units all stay as they were.
It is no test: in its last digits an eigendecomposition is the machine's own.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import dpcov
from dpcov.kernel.answer import Answer
from dpcov.kernel.questions.bins import Rank
from dpcov.kernel.questions.choices import AmongRadii, Bias

FILE = Path(__file__).with_name("net.json")
TOLERANCE = 1e-12
BUDGETS = {"pure": dpcov.PureDP(2), "zcdp": dpcov.ZCDP("0.5"), "approx": dpcov.ApproxDP(2, "1e-6")}
OPTIONS: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("covariance", "gaussian"): [{}, {"clip": "private"}, {"clip": 0.7}, {"constants": "paper"}],
    ("covariance", "wishart"): [{}, {"clip": "private"}],
    ("covariance", "laplace"): [{}, {"constants": "paper"}],
    ("covariance", "separate"): [{}, {"values": "spectrum"}, {"clip": "private"}],
    ("covariance", "rescaled"): [{}, {"robust": True}],
    ("covariance", "eigenvectors"): [{}, {"rank": 2}, {"allocation": "uniform"}, {"values": "spectrum"}],
    ("covariance", "coinpress"): [{}, {"constants": "proved", "rounds": 2}, {"centring": "pairs"}, {"rounds": 3}],
    ("pca", "ppca"): [{"approximate": True, "sweeps": 50}],
    ("pca", "screened"): [{}, {"screen": False}],
    ("mean", "coinpress"): [{}, {"covariance": 0.1}],
    ("ridge", "output-perturbation"): [{"alpha": 0.1}],
}


def rows(n: int = 600, d: int = 5) -> Any:
    """Return rows with some structure, of norm about 1."""
    random = np.random.default_rng(5)
    mixing = np.linalg.qr(random.normal(size=(d, d)))[0] * [0.6, 0.3, 0.2, 0.1, 0.05]
    return random.normal(size=(n, d)) @ mixing.T + 0.1


def table() -> Any:
    """Return the same rows as a table, the last column cut into three levels."""
    array = rows()
    levels = np.array(["low", "middle", "high"])[np.digitize(array[:, 4], [0.0, 0.2])]
    return pa.table({**{f"x{j}": array[:, j] for j in range(4)}, "level": levels})


SCHEMA = dpcov.Schema(
    {**{f"x{j}": dpcov.Numeric(-2, 2.5) for j in range(4)}, "level": dpcov.Categorical(["low", "middle", "high"])}
)


def cases() -> Iterator[tuple[str, Callable[[], dpcov.Release]]]:
    """Yield every case with its name; some are refused, which is recorded, too."""
    for target, mechanisms in dpcov.MECHANISMS.items():
        for name, (notion, budget), neighbors, schema, center in product(
            mechanisms, BUDGETS.items(), ("replace", "add-remove"), (False, True), (False, True)
        ):
            if center and target in ("mean", "ridge"):
                continue
            for options in OPTIONS.get((target, name), [{}]):
                said = ",".join(f"{key}={value}" for key, value in options.items())
                label = f"{target} {name}({said}) {notion} {neighbors} {'schema' if schema else 'array'}{' centred' * center}"
                yield label, case(target, name, budget, neighbors, schema, center, options)


def case(
    target: str, name: str, budget: Any, neighbors: str, schema: bool, center: bool, options: dict[str, Any]
) -> Callable[[], dpcov.Release]:
    data, bound = (table(), {"schema": SCHEMA}) if schema else (rows(), {"row_norm": 1.5})
    common: dict[str, Any] = {"mechanism": name, "seed": 11, **options, **bound}
    if target != "ridge":
        common["neighbors"] = neighbors
    if target in ("covariance", "pca"):
        common["center"] = center
    if target == "covariance" and name == "coinpress" and not schema:
        common = {key: value for key, value in common.items() if key != "row_norm"} | {"upper": 4.0, "lower": 0.001}
        if center:
            common["radius"] = 5.0
    if target == "mean" and not schema:
        common = {key: value for key, value in common.items() if key != "row_norm"} | {"radius": 5.0}
    if target == "pca":
        return lambda: dpcov.pca(data, budget, 2, **common)
    if target == "ridge":
        return lambda: dpcov.ridge(data, budget, "x0" if schema else 0, **common)
    function: Callable[..., dpcov.Release] = dpcov.covariance if target == "covariance" else dpcov.mean
    return lambda: function(data, budget, **common)


ESTIMATES: dict[str, Callable[[dpcov.Release], Any]] = {
    "n": lambda r: [r.n],
    "answers": lambda r: np.concatenate([integers(answer) for answer in r.answers]),
    "spent": lambda r: [float(value) for spend in r.spent for value in vars(spend.budget).values()],
    "second moment": lambda r: r.second_moment,
    "mean": lambda r: r.mean,
    "covariance": lambda r: r.covariance,
    "raw covariance": lambda r: _raw(r).covariance,
    "components": lambda r: r.pca(2).components,
    "explained": lambda r: r.pca(2).explained,
    "coefficients": lambda r: r.ridge(0).coefficients if r.kind == "covariance" else r.ridge().coefficients,
    "penalty": lambda r: [r.ridge(0).alpha],
    "correlation": lambda r: r.correlation(),
    "errors": lambda r: r.describe().mean.standard_error,  # type: ignore[union-attr]
    "deviations": lambda r: r.describe().deviation.standard_error,  # type: ignore[union-attr]
    "intervals": lambda r: r.interval(about="rows").entries.upper,
    "mean intervals": lambda r: r.interval(about="rows").mean.upper,  # type: ignore[union-attr]
    "eigenvalues": lambda r: r.interval(about="rows").eigenvalues.upper,
    "coefficient intervals": lambda r: r.ridge(0).interval(about="rows").coefficients.upper,
    "bound": lambda r: [r.ridge(0).bound(0.9)],
    "expected error": lambda r: [r.expected_error],
    "confidence": lambda r: _region(r),
}


def _raw(release: dpcov.Release) -> dpcov.Release:
    return release.finished("none")


def integers(answer: Answer) -> Any:
    """Return the integers of an answer; of choices by what they mean, as the first record had them."""
    question = answer.question
    if isinstance(question, Rank):
        return np.array([answer.integers[0], question.bins.count, question.column, question.rows], dtype=np.float64)
    if isinstance(question, AmongRadii):
        rows = 0 if isinstance(question, Bias) else question.rows  # type: ignore[attr-defined]
        return np.array([question.place(int(answer.integers[0])), question.norms.per_octave, rows], dtype=np.float64)
    return answer.integers.astype(np.float64)


def _region(release: dpcov.Release) -> Any:
    found = release.confidence
    return [found.radius] if hasattr(found, "radius") else np.stack([found.inner, found.outer])


def told(make: Callable[[], dpcov.Release]) -> dict[str, Any]:
    """Return what a case gives: why it is refused, or its promise and its estimates."""
    try:
        release = make()
    except dpcov.DpcovError as error:
        return {"refused": f"{type(error).__name__}: {str(error).partition(', got')[0]}"}
    found: dict[str, Any] = {"mechanism": release.mechanism, "asked": [spend.asked for spend in release.spent]}
    for name, estimate in ESTIMATES.items():
        try:
            found[name] = sums(np.asarray(estimate(release), dtype=np.float64))
        except (dpcov.DpcovError, AttributeError):
            continue  # a release that has none
    return found


def sums(values: Any) -> list[float]:
    """Return a weighted sum of the finite numbers, how large it can be, and how many are infinite."""
    flat = values.ravel()
    finite = np.where(np.isfinite(flat), flat, 0.0)
    weights = np.sin(np.arange(1, len(flat) + 1) * 1.234567)  # no two alike: a swap, a sign or a transposition shows
    return [float(f"{weights @ finite:.15g}"), float(f"{np.abs(finite).sum():.6g}"), float((~np.isfinite(flat)).sum())]


def differs(old: Any, new: Any) -> bool:
    """Whether two records are not the same."""
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new) == 3 and isinstance(old[0], float):
        return bool(old[2] != new[2] or abs(old[0] - new[0]) > TOLERANCE * old[1])
    return bool(old != new)


def main(verb: str) -> int:
    """Record, or compare; return how many cases differ."""
    warnings.simplefilter("error")
    recorded = {label: told(make) for label, make in cases()}
    if verb == "record":
        lines = ",\n".join(f"{json.dumps(label)}: {json.dumps(record)}" for label, record in recorded.items())
        FILE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
        print(f"{len(recorded)} cases, {sum('refused' in record for record in recorded.values())} of them refused")
        return 0
    before = json.loads(FILE.read_text(encoding="utf-8"))
    wrong = 0
    for label in sorted(before.keys() | recorded.keys()):
        old, new = before.get(label, {}), recorded.get(label, {})
        names = [name for name in sorted(old.keys() | new.keys()) if differs(old.get(name), new.get(name))]
        if names:
            wrong += 1
            print(f"{label}: {', '.join(names)}")
    print(f"{len(before)} cases, {wrong} differ")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1] if len(sys.argv) > 1 else "compare") else 0)
