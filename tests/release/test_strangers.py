"""Files of mechanisms that are not part of the library: read without them, used with them, and never a reason to import."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import ParameterError, ReleaseError
from dpcov.kernel.budget import ZCDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.moments import SecondMoment, Sum
from dpcov.kernel.rows.frames import Ball
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.base import Alias, Mechanism
from dpcov.release.estimate import Estimate
from dpcov.release.file import parse, text_of
from dpcov.release.record import Transcript
from tests.helpers.forged import USES, verdict
from tests.helpers.small import Record, record_of, sealed

ROWS = np.random.default_rng(4200).normal(size=(200, 3)) / 4


def ask(curator: Face, budget: Budget, *, shift: float = 0.5) -> dict[str, Any]:
    """Ask for a second moment, and for a sum about a centre."""
    first, second = budget.share("1/2"), budget.share("1/2")
    curator.noisy(curator.second_moment(), first, noise="gaussian")
    curator.noisy(Sum(Ball((shift,) * curator.d, 2.0), curator.d), second, noise="gaussian")
    return {"shift squared": shift * shift}


def estimate(transcript: Transcript, postprocess: str, *, shift: float = 0.5) -> Estimate:  # noqa: ARG001
    """Return what was asked for, as it is."""
    about, total = transcript.take(SecondMoment), transcript.take(Sum)
    assert isinstance(total.question, Sum)
    assert isinstance(total.question.grid, Ball)
    mean = total.question.grid.frame.point(total.values / transcript.n)
    return Estimate(mean=mean, covariance=about.matrix / transcript.n)


MINE = Mechanism(target="covariance", name="mine", serves=(ZCDP,), ask=ask, estimate=estimate, postprocess=("none", "half"))


def made(**options: Any) -> dpcov.Release:
    return dpcov.covariance(ROWS, ZCDP(1), row_norm=2.0, mechanism=MINE, seed=1, **options)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made().save(tmp_path / "mine.json")
    return tmp_path / "mine.json"


class TestWithoutTheMechanism:
    def test_the_promise_and_the_answers_are_read(self, path: Path) -> None:
        back, release = dpcov.load(path), made()
        assert (back.privacy, back.neighbors, back.n, back.kind, back.mechanism) == (
            ZCDP(1),
            "replace",
            200,
            "covariance",
            "mine",
        )
        assert (back.options, back.notes, back.spent) == ({"shift": 0.5}, {"shift squared": 0.25}, release.spent)
        assert (back.statement(), repr(back), back.how()) == (release.statement(), repr(release), release.how())
        assert "mine" in repr(back)
        assert (back.feature_names, back.row_norm, back.header()) == (release.feature_names, 2.0, release.header())
        for one, other in zip(back.answers, release.answers, strict=True):
            assert (one.question, one.laws, one.charges) == (other.question, other.laws, other.charges)
            assert one.values.tobytes() == other.values.tobytes()

    def test_it_is_saved_again_as_it_was(self, path: Path) -> None:
        before = path.read_bytes()
        dpcov.load(path).save(path)
        assert path.read_bytes() == before
        back = dpcov.load(path)
        for again in (copy.copy(back), copy.deepcopy(back), pickle.loads(pickle.dumps(back))):
            assert text_of(again).encode() == before

    NEEDS_NONE = ("repr", "text", "statement", "shown")

    @pytest.mark.parametrize("use", sorted(set(USES) - set(NEEDS_NONE)))
    def test_what_needs_an_estimate_says_what_is_missing(self, path: Path, use: str) -> None:
        with pytest.raises(
            ReleaseError, match=r"must come from a mechanism that is known here, got 'mine'\. .*mechanisms=\[\.\.\.\]"
        ):
            USES[use](dpcov.load(path))

    @pytest.mark.parametrize("use", NEEDS_NONE)
    def test_what_needs_none_works(self, path: Path, use: str) -> None:
        assert USES[use](dpcov.load(path))

    @pytest.mark.parametrize(
        "use",
        [
            lambda r: r.estimate,
            lambda r: r.center,
            lambda r: r.clip_radius,
            lambda r: r.encoded_covariance,
            lambda r: r.noise_level,
            lambda r: r.finished("none"),
            lambda r: dpcov.convergence(r),
        ],
        ids=["estimate", "center", "clip_radius", "encoded_covariance", "noise_level", "finished", "convergence"],
    )
    def test_nor_does_anything_else(self, path: Path, use: Callable[[dpcov.Release], Any]) -> None:
        with pytest.raises(ReleaseError):
            use(dpcov.load(path))

    def test_the_command_shows_it(self, path: Path) -> None:
        command = [sys.executable, "-m", "dpcov", "show", str(path)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        assert "mine" in run.stdout
        assert "Traceback" not in run.stderr

    @pytest.mark.parametrize("name", ["", "auto", "x" * 70_000, "\x00", "\x1b[2J", "numpy", "os.system", "../mine", "Gaussian"])
    def test_whatever_it_is_called(self, name: str) -> None:
        """Also what stands for others, and is no mechanism itself."""
        record = record_of(made())
        record["mechanism"]["name"] = name
        assert verdict(sealed(record)) == ("loaded", "")
        with pytest.raises(ReleaseError, match="must come from a mechanism that is known here"):
            _ = parse(sealed(record)).estimate

    @pytest.mark.parametrize(
        "place", ["mechanism", "requested", "postprocess", "dpcov_version", "note", "name of a note", "option"]
    )
    def test_text_that_cannot_be_written(self, place: str) -> None:
        """Half of a surrogate pair: no terminal and no file takes it."""
        record = record_of(made())
        if place in ("mechanism", "requested"):
            record[place]["name"] = "\ud800"
        elif place in ("postprocess", "dpcov_version"):
            record[place] = "\ud800"
        elif place == "option":
            record["requested"]["options"] = {"shift": ["\udfff"]}
        else:
            record["notes"] = {"x": "a\ud800"} if place == "note" else {"\ud800": 1}
        with pytest.raises(ReleaseError, match="well formed"):
            parse(sealed(record))

    def test_it_is_checked_like_any_other(self, path: Path) -> None:
        record: Record = json.loads(path.read_text(encoding="utf-8"))
        record["answers"][0]["noise"][0]["parameters"]["diagonal"] = "1000"
        with pytest.raises(ReleaseError, match="less noise than the promise needs"):
            parse(sealed(record))
        with pytest.raises(ReleaseError, match="less noise than the promise needs"):
            parse(sealed(record), [MINE])


class TestWithTheMechanism:
    def test_everything_works(self, path: Path) -> None:
        back, release = dpcov.load(path, mechanisms=[MINE]), made()
        assert back.covariance.tobytes() == release.covariance.tobytes()
        assert back.mean.tobytes() == release.mean.tobytes()
        assert back.finished("half").postprocess == "half"
        assert back.retrace().agrees
        assert text_of(back) == text_of(release) == path.read_text(encoding="utf-8")

    def test_it_travels_with_the_release(self, path: Path) -> None:
        back = dpcov.load(path, mechanisms=[MINE])
        for again in (
            copy.copy(back),
            copy.deepcopy(back),
            pickle.loads(pickle.dumps(back)),
            dataclasses.replace(back, notes={}),
        ):
            assert again.covariance.tobytes() == back.covariance.tobytes()

    def test_others_do_not_help(self, path: Path) -> None:
        others = [dataclasses.replace(MINE, name="yours"), dataclasses.replace(MINE, target="mean")]
        with pytest.raises(ReleaseError, match="must come from a mechanism that is known here"):
            _ = dpcov.load(path, mechanisms=others).covariance
        assert dpcov.load(path, mechanisms=[*others, MINE]).retrace().agrees

    def test_the_librarys_own_may_be_named_as_well(self, path: Path) -> None:
        own = [named for named in MECHANISMS["covariance"].values() if isinstance(named, Mechanism)]
        assert dpcov.load(path, mechanisms=[*own, MINE]).covariance.shape == (3, 3)

    @pytest.mark.parametrize(("target", "name"), [(target, name) for target in MECHANISMS for name in MECHANISMS[target]])
    def test_a_stranger_may_not_take_a_name_of_the_library(self, target: Any, name: str, path: Path) -> None:
        impostor = dataclasses.replace(MINE, target=target, name=name)
        with pytest.raises(ParameterError, match=rf"name of a mechanism must be new, got '{name}'.*Hint: "):
            dpcov.load(path, mechanisms=[impostor])
        if target == "covariance":
            with pytest.raises(ParameterError, match="name of a mechanism must be new"):
                dpcov.covariance(ROWS, ZCDP(1), row_norm=2.0, mechanism=impostor)
        release = dpcov.covariance(ROWS, ZCDP(1), row_norm=2.0, mechanism="gaussian", seed=1)
        release.save(path)
        with pytest.raises(ParameterError, match="name of a mechanism must be new"):
            dpcov.load(path, mechanisms=[impostor])
        assert dpcov.load(path).covariance.tobytes() == release.covariance.tobytes()

    @pytest.mark.parametrize(
        "given",
        [MINE, "mine", ["mine"], [MINE, 3], None, 3, [Mechanism], MECHANISMS["covariance"]["auto"]],
        ids=["a record", "a name", "names", "records and more", "None", "a number", "a class", "an alias"],
    )
    def test_what_is_no_list_of_records_is_refused(self, given: Any, path: Path) -> None:
        with pytest.raises(
            ParameterError,
            match=r"^mechanisms must be a list of Mechanism records, got .*\. Hint: write mechanisms=\[MINE\]\.$",
        ):
            dpcov.load(path, mechanisms=given)

    def test_two_of_one_name_are_refused(self, path: Path) -> None:
        with pytest.raises(ParameterError, match=r"^mechanisms must differ, got two called 'mine'\. Hint: "):
            dpcov.load(path, mechanisms=[MINE, dataclasses.replace(MINE, postprocess=("none",))])
        assert dpcov.load(path, mechanisms=(MINE, MINE)).record is MINE

    def test_a_name_of_another_kind_is_free(self, path: Path) -> None:
        """Target and name together identify a mechanism."""
        named = dataclasses.replace(MINE, name="symq")
        dpcov.covariance(ROWS, ZCDP(1), row_norm=2.0, mechanism=named, seed=1).save(path)
        assert dpcov.load(path, mechanisms=[named]).covariance.shape == (3, 3)
        with pytest.raises(ReleaseError, match="must come from a mechanism that is known here"):
            _ = dpcov.load(path).covariance

    def test_an_alias_is_no_mechanism_of_a_file(self, path: Path) -> None:
        """What was asked is under the name of what it stood for."""

        def resolve(public: Any, budget: Budget, postprocess: str | None, **options: Any) -> Any:  # noqa: ARG001
            return MINE, postprocess, options

        alias = Alias(target="covariance", name="either", serves=(ZCDP,), resolve=resolve)
        release = dpcov.covariance(ROWS, ZCDP(1), row_norm=2.0, mechanism=alias, seed=1)
        assert (release.requested, release.mechanism) == ("either", "mine")
        release.save(path)
        assert dpcov.load(path, mechanisms=[MINE]).covariance.tobytes() == made().covariance.tobytes()

    @pytest.mark.parametrize("options", [{"shift": 0.25}, {}, {"shift": None}, {"shift": "x"}, {"other": 1}], ids=str)
    def test_options_that_were_edited(self, options: dict[str, Any]) -> None:
        """Unknown ones are refused for it; what it makes of others is its own matter."""
        record = record_of(made())
        record["mechanism"]["options"] = options
        back = parse(sealed(record), [MINE])
        if "other" in options:
            with pytest.raises(ReleaseError, match="must have the options of 'mine'"):
                _ = back.estimate
        else:
            assert back.covariance.shape == (3, 3)

    def test_what_it_does_not_serve(self) -> None:
        record = record_of(made())
        record["privacy"] = {"notion": "approx", "epsilon": "50", "delta": "1/10"}
        with pytest.raises(ReleaseError, match="budget of mechanism 'mine' must be ZCDP"):
            _ = parse(sealed(record), [MINE]).estimate


def test_nothing_is_imported_because_of_a_file(tmp_path: Path) -> None:
    """Names in it are compared with known ones, whatever lies on the path of Python; no module is looked for."""
    for name in ("mine", "everything", "evil"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    record = record_of(made())
    places: list[Callable[[str], None]] = [
        lambda name: record["mechanism"].update(name=name),
        lambda name: record["requested"].update(name=name),
        lambda name: record["mechanism"].update(options={"module": name, "estimate": name}),
        lambda name: record.update(postprocess=name),
    ]
    for place in places:
        place("evil")
    (tmp_path / "evil.json").write_text(sealed(record), encoding="utf-8")
    made().save(tmp_path / "mine.json")
    program = """
import sys
import dpcov
from dpcov.errors import ReleaseError
for warm in ("mine.json", "evil.json"):
    dpcov.load(warm).statement()
before = set(sys.modules)
for name in ("mine.json", "evil.json"):
    release = dpcov.load(name)
    release.statement(), repr(release), release.spent, release.save("again.json")
    for use in (lambda: release.covariance, lambda: release.mean, lambda: release.pca()):
        try:
            use()
        except ReleaseError:
            continue
        raise AssertionError("it was used")
new = set(sys.modules) - before
assert not {name for name in new if not name.startswith("dpcov.")}, new
assert not {"mine", "evil", "everything"} & set(sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert run.returncode == 0, run.stderr


def test_a_release_of_a_stranger_is_pure_where_it_says_so() -> None:
    """The promise of a file rests on its answers alone: not on who asked."""

    def ask_pure(curator: Face, budget: Budget) -> None:
        curator.noisy(curator.second_moment(), budget, noise="laplace")

    def no_estimate(transcript: Transcript, postprocess: str) -> Estimate:  # noqa: ARG001
        return Estimate()

    pure = Mechanism(target="covariance", name="pure", serves=(PureDP,), ask=ask_pure, estimate=no_estimate)
    release = dpcov.covariance(ROWS, PureDP(1), row_norm=1.0, mechanism=pure)
    assert parse(text_of(release)).statement() == release.statement()
    assert release.statement().startswith("1-DP for replacing any one of the 200 rows")


class TestOptionsArePlain:
    """What asks, what estimates and what retraces are handed the same options: those that the file has."""

    @staticmethod
    def splitting(seen: list[object]) -> Mechanism:
        def ask_twice(curator: Face, budget: Budget, *, part: Any = 0.5, weights: Any = None) -> None:
            seen.append((part, weights))
            one = Fraction(part)
            for share in (one, 1 - one):
                curator.noisy(curator.second_moment(), budget.share(share), noise="gaussian")

        def no_estimate(transcript: Transcript, postprocess: str, *, part: Any, weights: Any) -> Estimate:  # noqa: ARG001
            seen.append((part, weights))
            return Estimate()

        return Mechanism(target="covariance", name="twice", serves=(ZCDP,), ask=ask_twice, estimate=no_estimate)

    @pytest.mark.parametrize(
        ("given", "plain"),
        [
            ({"part": Fraction(1, 3)}, (1 / 3, None)),
            ({"part": np.float32(0.5)}, (0.5, None)),
            ({"weights": np.array([[1, 2], [3, 4]])}, (0.5, [[1, 2], [3, 4]])),
            ({"weights": (1, 2)}, (0.5, [1, 2])),
        ],
        ids=str,
    )
    def test_in_every_place(self, given: dict[str, Any], plain: object, tmp_path: Path) -> None:
        seen: list[object] = []
        mechanism = self.splitting(seen)
        release = dpcov.covariance(ROWS, ZCDP(1), row_norm=2.0, mechanism=mechanism, seed=1, **given)
        release.save(tmp_path / "r.json")
        for again in (release, dpcov.load(tmp_path / "r.json", mechanisms=[mechanism])):
            _ = again.estimate
            assert again.retrace().agrees, again.retrace().difference
        assert all(one == plain for one in seen)
        assert [type(value) for value in seen[0]] == [type(value) for value in plain]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("notes", "kept"),
    [
        ({"edge": float("inf"), "rounds": 3}, {"edge": "inf", "rounds": 3}),
        ({"parts": {"a": 1}}, {"parts": "a value of type dict"}),
        ({1: np.int64(2)}, {"1": 2}),
        ([1, 2], {"notes": [1, 2]}),
        (None, {}),
    ],
    ids=str,
)
def test_notes_that_no_file_holds_do_not_lose_what_was_paid_for(notes: Any, kept: dict[str, Any], tmp_path: Path) -> None:
    """They become text: when they are known, everything was asked."""

    def ask_noting(curator: Face, budget: Budget) -> Any:
        curator.noisy(curator.second_moment(), budget, noise="gaussian")
        return notes

    def no_estimate(transcript: Transcript, postprocess: str) -> Estimate:  # noqa: ARG001
        return Estimate()

    mechanism = Mechanism(target="covariance", name="noting", serves=(ZCDP,), ask=ask_noting, estimate=no_estimate)
    release = dpcov.covariance(ROWS, ZCDP(1), row_norm=2.0, mechanism=mechanism, seed=1)
    assert dict(release.notes) == kept
    release.save(tmp_path / "r.json")
    again = dpcov.load(tmp_path / "r.json", mechanisms=[mechanism])
    assert dict(again.notes) == kept
    assert again.retrace().agrees
