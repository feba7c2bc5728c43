"""What a file of `screened` holds, what it may not, and what only its mechanism knows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import dpcov
from dpcov import ZCDP, PureDP, ReleaseError
from dpcov.kernel.questions.columns import Block
from dpcov.release.file import parse
from tests.helpers.forged import is_retraced, verdict
from tests.helpers.small import Record, record_of, sealed
from tests.mechanisms.test_screened import ROWS


def record() -> Record:
    return record_of(dpcov.pca(ROWS, PureDP(1), 2, row_norm=1, mechanism="screened", seed=3))


def question(made: Record, name: str) -> Record:
    return answer(made, name)["question"]  # type: ignore[no-any-return]


def answer(made: Record, name: str) -> Record:
    return next(entry for entry in made["answers"] if entry["question"]["asked"] == name)


def drop_a_column(made: Record) -> None:
    question(made, "block")["columns"].pop()


def other_columns(made: Record) -> None:
    question(made, "block")["columns"].reverse()


def beyond_the_table(made: Record) -> None:
    question(made, "block")["columns"][-1] = 16


def columns_of_the_squares(made: Record) -> None:
    question(made, "squares")["columns"] = [0, 1]


def a_larger_radius(made: Record) -> None:
    question(made, "block")["rows"]["radius"] = 1.5


def less_noise_on_the_squares(made: Record) -> None:
    answer(made, "squares")["noise"][0]["parameters"]["scale"] = "1"


def squares_that_were_not_paid_for(made: Record) -> None:
    answer(made, "squares")["noise"] = []


def variances_along_what_comes_later(made: Record) -> None:
    made["answers"].remove(answer(made, "block"))


def a_kind_of_its_own(made: Record) -> None:
    made["kind"] = "components"


FORGED: list[Callable[[Record], None]] = [
    drop_a_column,
    other_columns,
    beyond_the_table,
    columns_of_the_squares,
    a_larger_radius,
    less_noise_on_the_squares,
    squares_that_were_not_paid_for,
    variances_along_what_comes_later,
    a_kind_of_its_own,
]


def another_radius(made: Record) -> None:
    question(made, "block")["rows"]["radius"] = 0.123


def all_of_another_radius(made: Record) -> None:
    radius = question(made, "block")["rows"]["radius"] * 0.999
    question(made, "block")["rows"]["radius"] = question(made, "squares")["rows"]["radius"] = radius


def squares_of_other_rows(made: Record) -> None:
    question(made, "squares")["rows"]["radius"] = 0.123


def variances_inside_the_radius(made: Record) -> None:
    question(made, "explained")["rows"]["radius"] = 0.001


def variances_beyond_reach(made: Record) -> None:
    question(made, "explained")["rows"]["radius"] = question(made, "block")["rows"]["radius"]


def more_components(made: Record) -> None:
    made["mechanism"]["options"]["k"] = 3


def no_k(made: Record) -> None:
    del made["mechanism"]["options"]["k"]


def a_covariance(made: Record) -> None:
    made["kind"] = "covariance"


def without_squares(made: Record) -> None:
    place = made["answers"].index(answer(made, "squares"))
    del made["answers"][place]
    question(made, "explained")["basis"]["eigenvectors of"] -= 1


def not_screened(made: Record) -> None:
    made["mechanism"]["options"]["screen"] = False


def exact_numbers(made: Record) -> None:
    made["mechanism"]["options"]["numerics"] = "exact"


def another_option(made: Record) -> None:
    made["mechanism"]["options"]["robust"] = False


def another_postprocess(made: Record) -> None:
    made["postprocess"] = "shrink"


HIDDEN: list[Callable[[Record], None]] = [
    another_radius,
    all_of_another_radius,
    squares_of_other_rows,
    variances_inside_the_radius,
    variances_beyond_reach,
    more_components,
    no_k,
    a_covariance,
    without_squares,
    not_screened,
    exact_numbers,
    another_option,
    another_postprocess,
]


def test_columns_chosen_without_a_question_are_a_verdict() -> None:
    """Under zCDP all are kept: which of them to keep would have to be asked for. A block of four is as private, and loads."""
    made = record_of(dpcov.pca(ROWS, ZCDP("0.5"), 2, row_norm=1, mechanism="screened", seed=3))
    (block,) = parse(sealed(made)).every(Block)
    assert isinstance(block.question, Block)
    assert block.question.columns == tuple(range(16))
    assert is_retraced(parse(sealed(made)))
    question(made, "block")["columns"] = [0, 1, 2, 3]
    edited = answer(made, "block")
    edited["integers"] = edited["integers"][:10]  # as many as four columns have
    assert verdict(sealed(made)) == ("loaded", "")
    assert not is_retraced(parse(sealed(made)))


@pytest.mark.parametrize("edit", FORGED, ids=lambda edit: edit.__name__)
def test_forged_files_are_refused(edit: Callable[[Record], None]) -> None:
    made = record()
    assert parse(sealed(made)).mechanism == "screened"  # good before it is forged
    edit(made)
    with pytest.raises(ReleaseError, match=r"release file must be .+, got .+\. Hint: "):
        parse(sealed(made))


@pytest.mark.parametrize("edit", HIDDEN, ids=lambda edit: edit.__name__)
def test_what_only_the_mechanism_knows_is_a_verdict(edit: Callable[[Record], None]) -> None:
    made = record()
    assert is_retraced(parse(sealed(made)))
    edit(made)
    assert verdict(sealed(made)) == ("loaded", "")
    assert edit is another_postprocess or not is_retraced(parse(sealed(made)))
