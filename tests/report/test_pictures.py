"""What pictures show: the more certain a number, the stronger its colour; what may be noise is grey, and names can be read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.report import components, correlations, pictures, releases
from dpcov.report.pictures import FAINT, SMALLEST, heat_map, matrices_figure, opacity
from dpcov.uses.description import Reading
from tests.report.test_results import results


def axis() -> Any:
    return pictures.new_figure(4, 4, "title").subplots()


def test_colours_fade_with_the_evidence() -> None:
    """From 10 standard errors on a colour is its own; at 3, where a number is just clear, little of it is left."""
    own = opacity(np.array([0.5, 0.5, 0.5, -0.5, 1.0, 0.5]), np.array([0.01, 0.05, 0.1, 0.125, 0.0, np.nan]))
    assert own == pytest.approx([1, 1, FAINT + (1 - FAINT) * 2 / 7, FAINT + (1 - FAINT) / 7, 1, 1])
    assert opacity(np.array([0.3]), np.array([0.1])) == pytest.approx([FAINT])


def test_a_heat_map_fades_and_says_so() -> None:
    values, errors = np.array([[1, 0.6, 0.6], [0.6, 1, 0.6], [0.6, 0.6, 1]]), np.full((3, 3), 0.15)
    errors[0, 1] = errors[1, 0] = 0.01
    np.fill_diagonal(errors, 0.0)
    clear = np.abs(values) > 3 * errors
    clear[1, 2] = clear[2, 1] = False
    on = axis()
    image = heat_map(on, "correlation", Reading(values.copy(), errors.copy(), clear.copy()), 40.0)
    drawn = image.get_alpha()
    assert drawn[0, 1] == 1 > drawn[0, 2] > FAINT
    assert np.isnan(image.get_array().filled(np.nan)[1, 2])
    assert on.get_facecolor() == pytest.approx((0xE4 / 255, 0xE4 / 255, 0xE4 / 255, 1))
    assert on.get_title() == "correlation\n(the paler, the nearer to noise; grey: cannot be told from noise)"
    certain = axis()
    assert heat_map(certain, "truth", values, 40.0).get_alpha() is None
    assert certain.get_title() == "truth"


def many(clear: int, d: int = 90) -> dpcov.Release:
    """Return a release in which a column beside the first few has no variance to be seen."""
    random = np.random.default_rng(7)
    rows = np.zeros((3000, d))
    rows[:, :clear] = random.uniform(-0.5, 0.5, (3000, 1)) + random.uniform(-0.05, 0.05, (3000, clear))
    return dpcov.covariance(rows, dpcov.ZCDP(1), row_norm=3, center=True, mechanism="gaussian", seed=1)


@pytest.mark.parametrize("draw", [lambda r: correlations.figure(r.describe().correlation), releases.figure])
def test_of_many_features_those_that_go_together_are_drawn(draw: Any) -> None:
    on = draw(many(6)).axes[0]
    labels = [label.get_text() for label in on.get_yticklabels()]
    assert labels == [f"x{j}" for j in range(6)]
    assert on.get_title().startswith("correlation of the 6 features, of 90, that are in a pair clear of noise")
    assert on.get_images()[0].get_array().shape == (6, 6)


@pytest.mark.parametrize("d", [6, 81, 150])
def test_names_can_be_read(d: int) -> None:
    drawn = matrices_figure("title", [f"x{j}" for j in range(d)], {"truth": np.eye(d)}, {"": np.zeros(0)}, "")
    assert min(label.get_fontsize() for label in drawn.axes[0].get_yticklabels()) >= SMALLEST - 1e-9


def test_where_nothing_goes_together_all_are_drawn() -> None:
    found = many(0).describe().correlation
    assert found is not None
    assert correlations.with_room(found) == (found, "correlation")


def test_loadings_in_cells_have_their_errors_and_fade() -> None:
    found = results()["components"]
    right = components.figure(found).axes[1]
    cells = [text.get_text() for text in right.texts]
    assert len(cells) == int(found.clear.sum()) > 0
    assert all(" ± " in cell for cell in cells)
    own = opacity(found.components, found.errors.loadings).T
    assert (own < 1).any()
    assert right.get_images()[0].get_alpha() == pytest.approx(own)
    assert "the paler, the nearer to noise" in right.get_title()


def test_levels_of_one_column_are_no_pair() -> None:
    found = many(2).describe().correlation
    assert found is not None
    assert correlations.with_room(found)[0].feature_names == ("x0", "x1")
    assert correlations.with_room(replace(found, columns=("x", "x", *found.columns[2:])))[1] == "correlation"
