"""A linear model: what it is, what the release knows of its errors, and what each feature changes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcov.report.pictures import COLOURS, DROWNED, PALE, bare, error_bars, new_figure
from dpcov.report.text import (
    NOISE,
    SILENT,
    by,
    finite,
    interval_record,
    new_table,
    percent,
    print_promise,
    printable,
    rounded,
    shortened,
    span,
)
from dpcov.report.units import DAYS, Units
from dpcov.schema import Categorical
from dpcov.uses.held import holds_covariance, is_centered
from dpcov.uses.model_reading import ModelReading
from dpcov.uses.sampling import POPULATION, ROWS
from dpcov.uses.selection import column_of_feature

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from dpcov.uses.intervals import Interval
    from dpcov.uses.ridge import RidgeModel

MOST_COEFFICIENTS = 20
MOST_FEATURES = 25  # of a picture


def write(out: Console, found: RidgeModel | ModelReading, asked: float | str | None = None, everything: bool = False) -> None:
    """Print a model under the promise of its release; ``asked`` is the penalty that was asked for."""
    reading = reading_of(found)
    print_promise(out, reading.release)
    write_model(out, reading, asked, None if everything else MOST_COEFFICIENTS)


def write_model(out: Console, found: ModelReading, asked: float | str | None, limit: int | None) -> None:
    """Print a model: what it is, the coefficients that are clear of noise (without a limit: all), and what they are worth."""
    out.print(model_line(found, asked), soft_wrap=True)
    if limit is None or found.readable:
        out.print(coefficients_table(found, limit))
    out.print("\n".join(notes(found)), soft_wrap=True)


def reading_of(found: RidgeModel | ModelReading) -> ModelReading:
    """Return what can be said of a model, at the usual level where none was given."""
    return found if isinstance(found, ModelReading) else found.reading()


def record(found: RidgeModel | ModelReading) -> dict[str, Any]:
    """Return a model for machines, with what its release promises."""
    from dpcov.report.releases import promise

    reading = reading_of(found)
    return {**promise(reading.release), **numbers(reading)}


def columns(found: RidgeModel | ModelReading) -> dict[str, Any]:
    """Return a line for each feature: its coefficient, and, where the release tells, an interval around the raw one."""
    reading = reading_of(found)
    model, cells = reading.model, {"feature": list(reading.model.feature_names), "coefficient": reading.model.coefficients}
    if reading.intervals is None:
        return cells
    inside = reading.intervals.coefficients
    cells |= {"raw": inside.estimate, "standard_error": inside.standard_error, "lower": inside.lower, "upper": inside.upper}
    return cells | {"clear": reading.clear if reading.clear is not None else np.zeros(len(model.coefficients), dtype=np.bool_)}


def numbers(found: ModelReading) -> dict[str, Any]:
    """Return what is known of a model for machines; what is infinite or unknown is None."""
    model, intervals = found.model, found.intervals
    own = None if intervals is None else intervals.intercept
    return {
        "target": model.target,
        "features": list(model.feature_names),
        "columns": list(model.columns),
        "references": list(model.references),
        "alpha": model.alpha,
        "intercept": finite(model.intercept),
        "coefficients": finite(model.coefficients),
        "encoded_coefficients": finite(model.encoded_coefficients),
        "effects": {"per": found.per, "values": finite(found.effects)},
        "explained": finite(model.explained),
        "explained_error": finite(model.explained_error),
        "residual_deviation": finite(model.residual_deviation),
        "level": found.level,
        "about": None if intervals is None else POPULATION if intervals.population else ROWS,
        "bound": None if found.bound is None else finite(found.bound),
        "interval": None if intervals is None else interval_record(intervals.coefficients),
        "intercept_interval": None if own is None else interval_record(own),
        "clear_of_noise": None if found.clear is None else found.clear.tolist(),
        "nothing_seen": found.nothing,
        "no_interval": found.silent or None,
    }


def coefficients_table(found: ModelReading, limit: int | None = MOST_COEFFICIENTS) -> Table:
    """List coefficients, with their intervals where there are some: then, unless all are wanted, only those clear of noise."""
    from rich.text import Text

    model, order, interval = found.model, found.order, found.useful
    known = np.full(len(order), found.intervals is None)  # without intervals nobody can say what is noise
    clear = known if found.clear is None else found.clear & (not found.nothing)
    listed = order if limit is None else order[: min(limit, int(clear.sum()))]
    title = f"coefficients for {printable(model.target)}"
    table = new_table(title)
    table.caption = _caption(found, listed)
    table.add_column("feature", overflow="fold")
    compared = found.per != "per unit"
    for heading in ("coefficient", *[found.per] * compared):
        table.add_column(heading, justify="right")
    if interval is not None:
        table.add_column(f"{percent(found.level)} interval", justify="right")
    for j in listed:
        numbers = [coefficient(found, j), *[effect(found, j)] * compared]
        cells = [Text(number if clear[j] else NOISE) for number in numbers]
        if interval is not None:
            cells.append(Text(span(interval.lower[j], interval.upper[j])))
        table.add_row(printable(model.feature_names[j]), *cells, style=None if clear[j] else "dim")
    return table


def coefficient(found: ModelReading, place: int) -> str:
    """Return a coefficient with as many digits as its standard error allows."""
    if found.useful is None:
        return f"{found.shown[place]:.4g}"
    return rounded(float(found.shown[place]), float(found.useful.standard_error[place]))[0]


def effect(found: ModelReading, place: int) -> str:
    """Return what a feature changes, with its sign and as many digits as its standard error allows."""
    change = float(found.shown[place] * found.scales[place])
    if found.useful is None:
        return three_digits(change)
    number = rounded(change, float(found.useful.standard_error[place] * found.scales[place]))[0]
    return number if number.startswith("-") else f"+{number}"


def three_digits(number: float) -> str:
    """Return a number with its sign; an exponent only where it is very large or very small."""
    return f"{float(f'{number:.3g}'):+.7g}"


def _caption(found: ModelReading, listed: NDArray[np.intp]) -> str | None:
    """Say which features are not listed."""
    hidden = len(found.effects) - len(listed)
    if hidden == 0:
        return None
    drowned = 0 if found.clear is None else min(hidden, int((~found.clear).sum()))
    parts = [f"{hidden - drowned} more feature{'s' * (hidden - drowned > 1)}"] * (hidden > drowned)
    parts += [f"{drowned} that may be noise ({by('--all', 'to_frame()')} lists {'them' if drowned > 1 else 'it'})"] * bool(
        drowned
    )
    return f"... and {' and '.join(parts)}"


def model_line(found: ModelReading, asked: float | str | None) -> str:
    """Say what is predicted from what."""
    model, schema = found.model, found.release.schema
    count, columns = len(model.feature_names), len(model.columns)
    features = f"{count} feature{'s' * (count > 1)}" + f" of {columns} column{'s' * (columns > 1)}" * (columns < count)
    place = found.release.feature_names.index(model.target)
    column = model.target if schema is None else column_of_feature(schema, found.release.feature_names)[place]
    level = schema is not None and isinstance(schema.used[column], Categorical)
    dated = place in Units(schema, found.release.d).dated
    target = printable(model.target) + " (1 where it is so, else 0)" * level + f" (in {DAYS})" * dated
    auto = ", chosen by auto" * (asked == "auto" and holds_covariance(found.release))
    vast = found.nothing and found.is_constant and asked == "auto"
    penalty = "so large that nothing is left" if vast else f"{model.alpha:.3g}"
    named = f"Model: {target} from {features}; alpha {penalty}{auto}"
    intercept = f"intercept {model.intercept:.4g}" if found.release.center else "no intercept"
    if found.release.center and not found.readable:
        return f"{named}; with an intercept."  # it is as noisy as the coefficients
    if found.useful is not None and found.intervals is not None and (own := found.intervals.intercept) is not None:
        number = rounded(float(own.estimate), float(own.standard_error))[0]
        intercept = f"intercept {number} ({percent(found.level)} interval {span(float(own.lower), float(own.upper))})"
    return f"{named}; {intercept}."


def notes(found: ModelReading) -> list[str]:
    """Say what the numbers are worth, and what they are not."""
    release, model = found.release, found.model
    if found.nothing:
        return [f"Nothing can be seen: {drowned_line(found)}. {by('--json', 'to_frame()')} has the coefficients all the same."]
    said = []
    if not found.readable:
        together = ": only together they tell" * (len(found.effects) > 1)
        everything = by("--all", "to_frame()")
        said.append(f"No single coefficient is clear of noise, so none is listed ({everything} lists them){together}.")
    if holds_covariance(release) and np.isnan(model.explained):
        said.append(f"Explained: {SILENT}.")
    elif holds_covariance(release) and not found.knows_target:
        said.append(f"Explained: not known, as noise drowns the variance of {printable(model.target)} itself.")
    elif holds_covariance(release):
        what = "variance" if is_centered(release) else "second moment"
        score = by("`dpcov predict --score`", "model.score(rows)")
        share = f"{' ± '.join(rounded(100 * model.explained, 100 * model.explained_error))} % of the {what}"
        said.append(f"Explained: {share}, by the release alone; {score} measures it on new rows.")
    if found.bound is not None and found.bound <= found.size:
        said.append(_bound_line(found))
    said += _interval_lines(found)
    if model.references:
        said.append(f"Levels are compared with {', '.join(printable(name) for name in model.references)}.")
    if model.alpha == 0 and (found.intervals is None or not found.intervals.clear):
        auto = by("--alpha auto", "alpha='auto'")
        said.append(
            "alpha 0: the noisy matrix is trusted as if it were exact; where it is singular, the smallest coefficients are "
            f"taken. {auto} adapts to the noise."
        )
    if holds_covariance(release) and not release.center:
        lost = "knows no mean: predictions are right up to a constant" if is_centered(release) else "is not centred"
        said.append(f"No intercept: the release {lost}. {by('--center', 'center=True')} at the release gives one.")
    return said


def drowned_line(found: ModelReading) -> str:
    """Say why nothing can be seen of a model."""
    target = printable(found.model.target)
    return f"the noise of the release is too large to tell how {target} depends on these features"


def prediction_warnings(found: ModelReading, level: float | None) -> list[str]:
    """Say where predictions are almost constant, and where their intervals hold everything."""
    drowned = f"nothing can be seen: {drowned_line(found)}. The predictions are almost constant."
    target = printable(found.model.target)
    away = f"noise drowns the deviation of {target}, so nobody knows how far people are from predictions"
    endless = level is not None and math.isinf(found.model.residual_deviation)
    return [drowned] * found.nothing + [f"the intervals hold all that is possible: {away}."] * endless


def _interval_lines(found: ModelReading) -> list[str]:
    """Say what the intervals are around, or why there are none."""
    if found.intervals is None:
        return [f"No intervals: {found.silent}."]
    if found.useful is None or not found.readable:
        where, features, alpha = by("--json", "model.interval()"), by("--features", "features"), by("--alpha", "alpha")
        return [f"Intervals: too wide to help; {where} has them. Fewer {features} or a larger {alpha} narrow them."]
    if found.release.estimate.coefficients is not None:
        return [
            "Intervals: each on its own, for the privacy noise only, around the coefficients that the exact matrix would give."
        ]
    each = "each holds on its own" if found.intervals.clear else "wide, as the matrix does not stand clear of its noise"
    if found.intervals.population:
        least = " Least squares: the model itself is penalised, and its coefficients are drawn towards 0."
        drawn = "over the noise and the draw of rows" if found.intervals.clear else "over the noise"
        return [
            f"Intervals: about the population, {drawn}; {each}.{least * found.model.penalised}",
            *[f"Coefficients here are their centres; {_denoised()}."] * found.model.penalised,
        ]
    penalised = (
        "for least squares" if found.model.alpha == 0 else f"for what ridge with alpha {found.model.alpha:.3g} would give"
    )
    towards = (
        "" if found.model.alpha == 0 else " These are penalised coefficients, drawn towards 0: not those of least squares."
    )
    raw = f"Coefficients are those of the raw noisy matrix, whose errors are known; {_denoised()}."
    return [
        f"Intervals: {penalised} on the exact matrix, for the privacy noise only; {each}.{towards}",
        *[raw] * (found.model.penalised or not found.intervals.clear),
    ]


def _denoised() -> str:
    return by("`dpcov predict` uses those of the model (--json)", "predictions use those of the model (model.coefficients)")


def _bound_line(found: ModelReading) -> str:
    """Say the bound of Lemma 1 (docs/ridge.md) beside the size of what it bounds."""
    assert found.bound is not None
    encoded = "encoded " * (found.release.schema is not None)
    return (
        f"Bound: with probability {percent(found.level)} over the noise, all {encoded}coefficients together, of norm "
        f"{found.size:.3g}, are within {found.bound:.3g} of those of the exact matrix."
    )


def figure(reading: RidgeModel | ModelReading) -> Any:
    """Return a figure: the largest effects as bars, and the intervals around the raw ones as lines."""
    found = reading_of(reading)
    model, target = found.model, shortened(printable(found.model.target))
    title = f"What {target} depends on"
    if found.nothing:
        return _nothing(found, title)
    shown = found.order[:MOST_FEATURES]
    places = np.arange(len(shown))
    drawn = new_figure(7.6, max(3.0, 0.26 * len(shown) + 2.3), title, found.release, size=9)
    axis = drawn.subplots()
    clear = np.full(len(found.effects), found.readable) if found.clear is None else found.clear
    what = "coefficients" + ", drawn towards 0 by the penalty" * bool(model.alpha > 0 and found.useful is None)
    for which, colour, label in ((clear[shown], PALE, what), (~clear[shown], DROWNED, f"{what}: each alone may be noise")):
        if which.any():
            axis.barh(places[which], (found.shown * found.scales)[shown][which], color=colour, height=0.7, label=label)
    if found.useful is not None:
        _error_bars(axis, found, found.useful, shown, places)
    bare(axis)
    axis.set_yticks(
        places, [shortened(printable(model.feature_names[j])) for j in shown], fontsize=8, parse_math=False
    )  # a name may hold a $
    axis.invert_yaxis()
    axis.margins(y=0.02)
    axis.set_xlabel(f"change of {target}, {_per(found)}", fontsize=9, parse_math=False)
    hidden = f" ({len(shown)} of {len(model.feature_names)} features)" if len(shown) < len(model.feature_names) else ""
    axis.set_title(f"{target}, alpha {model.alpha:.3g}{hidden}", fontsize=10, parse_math=False)
    axis.tick_params(axis="x", labelsize=8)
    drawn.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)  # beside the bars it would hide one
    return drawn


def _nothing(found: ModelReading, title: str) -> Any:
    """Return a figure that says so: bars of noise would look like a model."""
    drawn = new_figure(7.6, 2.8, title, found.release, size=9)
    axis = drawn.subplots()
    axis.axis("off")
    words = f"Nothing can be seen:\n{drowned_line(found)}."
    axis.text(0.5, 0.5, words, ha="center", va="center", wrap=True, fontsize=10, parse_math=False)
    return drawn


def _per(found: ModelReading) -> str:
    return f"{found.per} of the feature".replace("its range of the feature", "the feature's range")


def _error_bars(axis: Any, found: ModelReading, interval: Interval, shown: NDArray[np.intp], places: NDArray[np.intp]) -> None:
    """Draw intervals; infinite ones are left out."""
    scales = found.scales[shown]
    with np.errstate(all="ignore"):
        middle, lower, upper = (
            np.nan_to_num(part[shown] * scales, nan=0.0) for part in (interval.estimate, interval.lower, interval.upper)
        )
    label = f"raw, with {percent(found.level)} intervals"
    error_bars(axis, places, middle, lower, upper, color=COLOURS[1], markersize=3, label=label)
