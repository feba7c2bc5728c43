"""Tensors of torch, and arrays that are moved to a device: the same integers and releases, refusals, devices that differ.

What runs on "cuda" where there is a card runs on "cpu" everywhere: by the same code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcov
from dpcov.errors import EngineError, ParameterError, SchemaError
from dpcov.kernel.questions.clipped_pair import ClippedPair
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.questions.norms import Norms, Trace
from dpcov.kernel.questions.together import Together
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.grid import Grid
from dpcov.release.file import text_of
from dpcov.sources import device_sums
from dpcov.sources import torch as torch_source
from dpcov.sources.by import checked_by
from dpcov.sources.device_check import check_device, check_products, hostile
from dpcov.sources.device_sums import DeviceSums, sums_on
from dpcov.sources.opening import open_source
from dpcov.sources.torch import TorchDevice
from tests.engines import beside
from tests.engines.asked import questions
from tests.engines.engines import array, expected
from tests.engines.test_every_engine import RELEASES
from tests.helpers.rows import fuzz, tables
from tests.sources.mixed import NUMBERS, SCHEMA, arrow
from tests.test_docs import ROOT, blocks

torch = pytest.importorskip("torch", reason="torch is not installed: make engines")
torch.set_num_threads(1)

BUDGET = dpcov.ZCDP(1)
DEVICES = ["cpu", *["cuda"] * torch.cuda.is_available()]
any_device = pytest.mark.parametrize("device", DEVICES)
either = pytest.mark.parametrize("center", [False, True])
HELD: dict[str, Callable[[Any, str], Any]] = {
    "tensor": lambda rows, device: torch.from_numpy(rows.copy()).to(device),
    "tensor by columns": lambda rows, device: torch.from_numpy(np.asfortranarray(rows).copy(order="K")).to(device),
    "tensor that learns": lambda rows, device: torch.from_numpy(rows.copy()).to(device).requires_grad_(),
    "parameter": lambda rows, device: torch.nn.Parameter(torch.from_numpy(rows.copy()).to(device)),
    "part of a tensor": lambda rows, device: torch.from_numpy(np.repeat(np.pad(rows, 1), 2, 1)).to(device)[1:-1, 2:-2:2],
    "tensor, moved": lambda rows, device: dpcov.OnDevice(torch.from_numpy(rows.copy()), device),
    "array, moved": lambda rows, device: dpcov.OnDevice(rows, device),
    "array by columns, moved": lambda rows, device: dpcov.OnDevice(np.asfortranarray(rows), device),
    "array that is read only, moved": lambda rows, device: dpcov.OnDevice(np.broadcast_to(rows, rows.shape), device),
    "sparse matrix, moved": lambda rows, device: dpcov.OnDevice(scipy.sparse.csr_array(rows), device),
}
NAMED = [cell + 0.0 for cell in beside.array("number")[:, 5] if np.isfinite(cell)]
any_holder = pytest.mark.parametrize("held", HELD)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_source, "BLOCK_ELEMENTS", 300)


@any_device
@either
@any_holder
def test_every_question_about_plain_numbers_has_the_same_integers(held: str, center: bool, device: str) -> None:
    source = open_source(HELD[held](array(), device), None, None, center)
    for question, integers in expected(center, None):
        assert source.total(question).tolist() == integers, question.name
    assert source.known_n == 240
    assert source.feature_names == ("x0", "x1", "x2", "x3", "x4")


@any_device
@either
@pytest.mark.parametrize("held", ["tensor", "tensor, moved", "array, moved"])
def test_every_question_with_a_schema_has_the_same_integers(held: str, center: bool, device: str) -> None:
    schema = SCHEMA.select(NUMBERS)
    source, in_memory = (
        open_source(HELD[held](array(), device), None, schema, center),
        open_source(arrow(), None, schema, center),
    )
    for question in questions(source.d, center, schema):
        assert source.total(question).tolist() == in_memory.total(question).tolist(), question.name
    assert source.feature_names == in_memory.feature_names


@any_device
@either
@pytest.mark.parametrize("kind", beside.ARRAYS)
@pytest.mark.parametrize("held", ["tensor", "tensor by columns", "tensor, moved", "array, moved", "sparse matrix, moved"])
def test_people_and_weights_have_the_same_integers(held: str, kind: str, center: bool, device: str) -> None:
    source = open_source(HELD[held](beside.array("number"), device), [0, 1, 2, 3, 4], None, center, aside=beside.ARRAYS[kind])
    beside.check(source, beside.expected_of_array(kind, center))
    assert source.known_n == source.n == (240 if kind == "weight" else len(np.unique(NAMED)))


@any_device
@pytest.mark.parametrize("kind", ["unit", "number, rows, weight"])
def test_people_with_a_schema_have_the_same_integers(kind: str, device: str) -> None:
    names = [*NUMBERS, "number", "amount"]
    schema = dpcov.Schema({name: SCHEMA.columns.get(name, dpcov.Ignored()) for name in names})
    unit = beside.aside("number", *((3, "amount") if kind != "unit" else ()))
    rows = beside.array("number")
    source, here = (open_source(held, None, schema, True, aside=unit) for held in (dpcov.OnDevice(rows, device), rows))
    asked = [beside.about(question, unit) for question in questions(source.d, True, schema)]
    beside.check(source, [(question, here.total(question).tolist()) for question in asked])


@any_device
@either
def test_groups_have_the_same_integers(center: bool, device: str) -> None:
    by, rows = checked_by({"x4": [1, 2.5, 3]}, None), beside.array("number")
    source = open_source(dpcov.OnDevice(rows, device), ["x0", "x1", "x2", "x3"], None, center, by=by)
    beside.check(source, beside.expected_groups(center, True))


@any_device
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_rows_of_people_that_try_to_break_things(device: str, data: st.DataObject) -> None:
    """Whatever the rows and the shares: each is rounded as the kernel rounds it."""
    rows, centre = data.draw(tables(3, 1, 20)), data.draw(st.booleans())
    parts = st.one_of(st.integers(0, 2**52), st.integers(0, 52).map(lambda bits: 2**bits), st.sampled_from([2**52 - 1, 3]))
    shares = np.array([data.draw(parts) for _ in rows], dtype=np.float64)
    grid, beyond = Grid(1.0, center=centre), Annulus(Grid(0.3), Grid(1.0))
    wide, unit = grid.width(3), beside.aside("who")
    asked: list[Any] = [kind(grid, wide, aside=unit) for kind in (Sum, SecondMoment, Trace)]
    asked += [Norms(grid, wide, 3, 4, aside=unit), ClippedPair(beyond, 3, unit), SecondMoment(beyond, 3, aside=unit)]
    block = np.column_stack([rows, shares])
    for question in asked:
        sums = DeviceSums(question, TorchDevice(device))
        sums.of(block)
        assert sums.whole().tolist() == question.of(block).tolist(), question.name


@any_device
def test_a_count_of_people_is_no_count_of_rows(device: str) -> None:
    """Also where it does not say whose the rows are."""
    rows, unit = beside.array("number"), beside.aside("x5")
    people = len(np.unique(NAMED))
    for question in (Count(aside=unit), Count()):
        source = open_source(dpcov.OnDevice(rows, device), aside=unit)
        assert source.known_n is None
        assert source.total(question).tolist() == [people] == [source.n]


@any_device
def test_columns_beside_the_features_are_all_that_comes_here(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    came: list[tuple[int, ...]] = []
    brought = TorchDevice.brought

    def watched(self: TorchDevice, tensor: Any) -> Any:
        came.append(tuple(tensor.shape))
        return brought(self, tensor)

    rows = np.column_stack([np.full((700, 9), 0.01), np.arange(700) % 70])
    source = open_source(dpcov.OnDevice(torch.from_numpy(rows), device), aside=beside.aside("x9"))
    moment = SecondMoment(Grid(1.0), 9, aside=beside.aside("x9"))
    source.total(moment)
    monkeypatch.setattr(TorchDevice, "brought", watched)
    source.total(moment)
    assert {shape for shape in came if len(shape) > 1} == {(9, 9)}
    assert source.n == 70


@any_device
@pytest.mark.parametrize("kind", ["npy", "memmap"])
def test_files_are_moved(kind: str, device: str, tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", array())
    data = tmp_path / "rows.npy" if kind == "npy" else np.load(tmp_path / "rows.npy", mmap_mode="r")
    source = open_source(dpcov.OnDevice(data, device))
    for question, integers in expected(False, None):
        assert source.total(question).tolist() == integers, question.name


@any_device
def test_what_is_summed_there(device: str) -> None:
    """Otherwise the equalities above could be about the kernel alone."""
    there = TorchDevice(device)
    names = [question.name for question in questions(5, False, None) if sums_on(there, question) is not None]
    assert names == ["count", "sum", "second moment", "trace", "norms", "several", "second moment", "clipped pair"]
    assert [sums_on(there, question) is None for question in questions(5, True, None)] == [False] * 6
    nested = Together((Norms(Grid(1.0), 2, 1, 2), SecondMoment(Grid(1.0), 2)))
    assert sums_on(there, nested) is not None
    local = [question for question in questions(5, False, None) if question.name == "bins"]
    assert sums_on(there, Together((*nested.members, *local))) is None


@any_device
@pytest.mark.parametrize("release", RELEASES)
def test_a_seeded_release_is_the_same_byte_by_byte(release: str, device: str) -> None:
    target, budget, given = RELEASES[release]
    rows = np.random.default_rng(5).normal(size=(400, 3))
    schema = dpcov.Schema({"height": dpcov.Numeric(-3, 3), "y": dpcov.Numeric(-3, 3), "z": dpcov.Numeric(-3, 3)})
    data = (rows, dpcov.OnDevice(rows, device), torch.from_numpy(rows).to(device))
    made = [getattr(dpcov, target)(one, budget, seed=7, **{**given, "schema": schema}) for one in data]
    assert text_of(made[0]) == text_of(made[1]) == text_of(made[2])


PLAIN: list[dict[str, Any]] = [
    {},
    {"neighbors": "add-remove"},
    {"center": True},
    {"mechanism": "gaussian", "clip": "private"},
    {"mechanism": "separate", "clip": "private"},
    {"mechanism": "adaptive"},
]


@any_device
@pytest.mark.parametrize("settings", PLAIN, ids=str)
def test_a_seeded_release_of_plain_numbers(settings: dict[str, Any], device: str) -> None:
    rows = np.random.default_rng(6).standard_t(2, size=(3000, 4))
    data = (rows, dpcov.OnDevice(rows, device), torch.from_numpy(rows).to(device))
    made = [dpcov.covariance(one, BUDGET, row_norm=30, seed=7, **settings) for one in data]
    assert text_of(made[0]) == text_of(made[1]) == text_of(made[2])


@any_device
@pytest.mark.parametrize("columns", [["x3", "x0"], [3, 0], ["x1"]])
@pytest.mark.parametrize("mechanism", ["auto", "gaussian"])
def test_some_columns(columns: list[Any], mechanism: str, device: str) -> None:
    settings: dict[str, Any] = {
        "row_norm": 50,
        "columns": columns,
        "seed": 7,
        "mechanism": mechanism,
        "center": len(columns) > 1,
    }
    here = dpcov.covariance(array(), BUDGET, **settings)
    for held in ("tensor", "array, moved", "tensor, moved"):
        assert text_of(dpcov.covariance(HELD[held](array(), device), BUDGET, **settings)) == text_of(here)


KINDS = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool"]


@any_device
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("held", ["tensor", "tensor, moved", "array, moved"])
def test_numbers_of_any_type(kind: str, held: str, device: str) -> None:
    random = np.random.default_rng(8)
    rows = (
        random.integers(0, 256, size=(100, 8 * np.dtype(kind).itemsize), dtype=np.uint8).view(kind) if kind != "bool" else None
    )
    rows = random.random((100, 4)) < 0.5 if rows is None else rows
    for norm in (1e-6, 40.0, 1e18):
        question = SecondMoment(Grid(norm), rows.shape[1])
        assert open_source(HELD[held](rows, device)).total(question).tolist() == open_source(rows).total(question).tolist()


@any_device
def test_numbers_that_only_one_of_the_two_has(device: str) -> None:
    floats = np.random.default_rng(9).normal(size=(100, 3)).astype(np.float32) * np.float32(1e-39)
    short = torch.from_numpy(floats).to(torch.bfloat16)
    question = SecondMoment(Grid(1e-38), 3)
    same = open_source(short.float().numpy()).total(question).tolist()
    assert same != [0] * 6
    for data in (short.to(device), dpcov.OnDevice(short, device)):
        assert open_source(data).total(question).tolist() == same
    digits, question = np.random.default_rng(10).normal(size=(100, 3)) * 1e-43, SecondMoment(Grid(1e-42), 3)  # of no float32
    for wide in (digits.astype(np.longdouble), floats.astype(">f4"), digits.astype(">f8")):
        assert open_source(dpcov.OnDevice(wide, device)).total(question).tolist() == open_source(wide).total(question).tolist()


@any_device
@either
@pytest.mark.parametrize("norm", [1e-150, 1e-3, 1.0, 1e150])
@pytest.mark.parametrize("bits", [16, 9])
def test_rows_that_try_to_break_things(norm: float, bits: int, center: bool, device: str) -> None:
    """Of every magnitude; in blocks of another size than the kernel's."""
    rows = fuzz(31, 300, 7) * norm if norm < 1e100 else fuzz(32, 300, 7)
    grid, there = Grid(norm, bits, center), TorchDevice(device)
    asked: list[Any] = [
        SecondMoment(grid, grid.width(7)),
        *[question for question in questions(7, center, None) if getattr(question, "grid", None) == Grid(50.0, center=center)],
    ]
    if not center and norm > 1e-100:
        asked += [ClippedPair(Annulus(Grid(part * norm, bits), grid), 7) for part in (1e-3, 0.3, 0.999)]
    for question in asked:
        sums = DeviceSums(question, there)
        total = sums.of(rows[:100])
        sums.add_to(total, there.moved(rows[100:]))
        assert np.array_equal(sums.entries(total), question.entries(question.of(rows))), question


@settings(max_examples=40)
@given(tables(3, most=8), st.sampled_from([1.0, 1e-3, 2.0**100]), st.booleans())
def test_any_floats(rows: Any, norm: float, center: bool) -> None:
    grid, there = Grid(norm, center=center), TorchDevice("cpu")
    for question in (SecondMoment(grid, grid.width(3)), Norms(grid, grid.width(3), 3, 4)):
        sums = DeviceSums(question, there)
        sums.of(rows)
        assert np.array_equal(sums.whole(), question.of(rows))


@any_device
def test_sums_of_more_rows_than_float64_adds_exactly(device: str) -> None:
    """A block of rows on the radius, over and over: 2²² of them have 2⁵⁴ in the corner, and the last one an odd number."""
    rows = np.zeros((2**10, 2))
    rows[:, 0] = 1.0
    question = SecondMoment(Grid(1.0), 2)
    sums = DeviceSums(question, TorchDevice(device))
    there = TorchDevice(device).moved(rows)
    total = sums.of(there)
    for _ in range(2**12):
        sums.add_to(total, there)
    sums.add_to(total, np.array([[3 / 2**16, 5 / 2**16]]))
    assert sums.entries(total).tolist() == [(2**12 + 1) * 2**42 + 9, 25, 15]


@any_device
def test_no_rows_at_all(device: str) -> None:
    empty = torch.zeros((0, 3)).to(device)
    for data in (empty, dpcov.OnDevice(empty, device), dpcov.OnDevice(np.zeros((0, 3)), device)):
        found = dpcov.covariance(data, BUDGET, row_norm=1, neighbors="add-remove", mechanism="gaussian", seed=7)
        here = dpcov.covariance(np.zeros((0, 3)), BUDGET, row_norm=1, neighbors="add-remove", mechanism="gaussian", seed=7)
        assert text_of(found) == text_of(here)
        with pytest.raises(ParameterError, match="data must have 1 to"):
            dpcov.covariance(data, BUDGET, row_norm=1)


@any_device
def test_the_rows_are_left_alone(device: str) -> None:
    rows = torch.from_numpy(fuzz(33, 50, 4)).to(device)
    before = rows.cpu().numpy().tobytes()
    moved = fuzz(33, 50, 4)
    for data in (rows, dpcov.OnDevice(rows, device), dpcov.OnDevice(moved, device)):
        dpcov.covariance(data, BUDGET, row_norm=1, seed=0)
    assert rows.cpu().numpy().tobytes() == before == moved.tobytes()


@any_device
def test_pairs_and_processes_have_rows_of_a_tensor(device: str) -> None:
    settings: dict[str, Any] = {"row_norm": 50, "seed": 3}
    for data in (torch.from_numpy(array()).to(device), dpcov.OnDevice(array(), device)):
        for more in ({"mechanism": "coinpress", "centring": "pairs"}, {"workers": 2, "mechanism": "gaussian"}):
            here = dpcov.covariance(array(), BUDGET, **settings, **more)
            assert text_of(dpcov.covariance(data, BUDGET, **settings, **more)) == text_of(here)


def test_progress_is_told() -> None:
    told: list[Any] = []
    dpcov.covariance(dpcov.OnDevice(array(), "cpu"), BUDGET, row_norm=50, mechanism="gaussian", progress=told.append)
    assert told[-1] == 1.0
    assert told == sorted(told)


class TestEstimators:
    @any_device
    def test_of_tensors(self, device: str) -> None:
        rows = np.random.default_rng(2).normal(size=(500, 3))
        for data in (torch.from_numpy(rows).to(device).requires_grad_(), dpcov.OnDevice(rows, device)):
            estimator = dpcov.PrivateCovariance(rho=1, row_norm=3, random_state=7)
            there = estimator.fit(data).covariance_
            assert estimator.n_features_in_ == 3
            assert there.tolist() == estimator.fit(rows).covariance_.tolist()
            components = dpcov.PrivatePCA(rho=1, row_norm=3, n_components=2, random_state=7).fit(data)
            assert components.transform(data).tolist() == components.transform(rows).tolist()
            model = dpcov.PrivateRidge(rho=1, row_norm=3, target_bound=1, random_state=7)
            assert model.fit(data, rows[:, 0]).coef_.tolist() == model.fit(rows, rows[:, 0]).coef_.tolist()


class TestRefused:
    """By type, shape and device, before anything is read."""

    @pytest.mark.parametrize(
        ("make", "told"),
        [
            (lambda: torch.zeros(4), "got 1 dimension"),
            (lambda: torch.zeros(4, 2, 2), "got 3 dimension"),
            (lambda: torch.zeros(4, 0), "columns, got 0"),
            (lambda: torch.zeros(4, 2, dtype=torch.complex64), "got complex64"),
            (lambda: torch.zeros(4, 2).to_sparse(), "got a sparse_coo one"),
            (lambda: torch.zeros(4, 2).to_sparse_csr(), "got a sparse_csr one"),
            (lambda: torch.zeros(4, 2, device="meta"), "got one without values"),
            (lambda: torch.quantize_per_tensor(torch.zeros(4, 2), 1.0, 0, torch.qint8), "got qint8"),
            (lambda: torch.zeros(4, 2).to(torch.float8_e4m3fn), "got float8_e4m3fn"),
        ],
    )
    def test_tensors_that_are_no_tables(self, make: Any, told: str) -> None:
        with pytest.warns(UserWarning, match=".") if "csr" in told or "qint8" in told else nullcontext():
            tensor = make()
        for data in (tensor, dpcov.OnDevice(tensor, "cpu")):
            with pytest.raises(ParameterError, match=told):
                dpcov.covariance(data, BUDGET, row_norm=1)

    def test_a_schema_for_other_columns(self) -> None:
        with pytest.raises(SchemaError, match="got 1 descriptions for 2 columns"):
            dpcov.covariance(torch.zeros(4, 2), BUDGET, schema=dpcov.Schema({"x": dpcov.Numeric(0, 1)}))

    @pytest.mark.parametrize("data", ["rows.csv", [[1.0]], None, {"x": [1.0]}])
    def test_what_is_not_moved(self, data: Any) -> None:
        with pytest.raises(ParameterError, match="data must be an array, a tensor or a path to a"):
            dpcov.OnDevice(data)

    @pytest.mark.parametrize("device", ["", "the card", 0, None, "cuda:-1", "cuda:x", "CUDA"])
    def test_names_that_are_none(self, device: Any) -> None:
        with pytest.raises(ParameterError, match="device must be what torch calls it"):
            dpcov.OnDevice(np.zeros((2, 2)), device)

    @pytest.mark.parametrize("device", ["cuda:99", "nothing", "meta"])
    def test_devices_that_are_not_there(self, device: str) -> None:
        with pytest.raises(EngineError, match="device must be one that torch can use here") as caught:
            dpcov.covariance(dpcov.OnDevice(np.zeros((2, 2)), device), BUDGET, row_norm=1)
        assert caught.value.__context__ is None

    def test_torch_that_is_not_installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "torch", None)
        with pytest.raises(EngineError, match="package torch must be installed for devices, and is not") as caught:
            dpcov.covariance(dpcov.OnDevice(np.zeros((2, 2)), "cpu"), BUDGET, row_norm=1)
        assert caught.value.__context__ is None

    def test_a_record_shows_no_cell(self) -> None:
        assert repr(dpcov.OnDevice(np.full((1, 1), 12.5), "cuda:1")) == "OnDevice(device='cuda:1')"


class TestErrors:
    """Whatever torch says is replaced: it may quote cells, and names no reason that a user of dpcov knows."""

    def test_a_tensor_whose_memory_was_given_back(self) -> None:
        rows = torch.ones(100, 2)
        rows.untyped_storage().resize_(0)
        for data in (rows, dpcov.OnDevice(rows, "cpu")):
            with pytest.raises(EngineError, match="a tensor without memory"):
                dpcov.covariance(data, BUDGET, row_norm=1)

    def test_a_device_out_of_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object) -> None:
            raise torch.OutOfMemoryError("CUDA out of memory. SECRET")

        source = open_source(dpcov.OnDevice(array(), "cpu"))
        monkeypatch.setattr(TorchDevice, "moved", full)
        monkeypatch.setattr(TorchDevice, "check", lambda *_: None)
        with pytest.raises(EngineError, match="check that the device has memory to spare") as caught:
            source.total(SecondMoment(Grid(1.0), 5))
        assert caught.value.__context__ is None
        assert "SECRET" not in str(caught.value)

    @either
    def test_values_are_no_errors(self, center: bool) -> None:
        """Under a caller's np.seterr(all="raise"), too."""
        rows = np.vstack([fuzz(34, 50, 3), np.zeros((2, 3))])
        with np.errstate(all="raise"):
            grid = Grid(1.0, center=center)
            for question in (SecondMoment(grid, grid.width(3)), Norms(grid, grid.width(3), 2, 3)):
                DeviceSums(question, TorchDevice("cpu")).of(rows)


class Wrong(TorchDevice):
    """A device that differs in one thing."""

    def __init__(self, wrong: Any) -> None:
        super().__init__("cpu")
        self._wrong = wrong

    def moved(self, rows: Any) -> Any:
        return self._wrong(super().moved(rows))


class TestDevicesThatDiffer:
    """A device is tried on public rows before anything is read; one that would give other integers is refused."""

    @any_device
    def test_this_one_does_not(self, device: str) -> None:
        check_device(TorchDevice(device))
        for d in (1, 5, 300):
            check_products(TorchDevice(device), d)

    @pytest.mark.parametrize(
        ("name", "wrong"),
        [
            ("round_", lambda x: x.add_(0.5).floor_()),
            ("round_", lambda x: x.trunc_()),
            ("trunc_", lambda x: x.floor_()),
            ("trunc_", lambda x: x),
            ("square", lambda x: (x.float() * x.float()).double()),
            ("sum", lambda x, **_: x.float().cumsum(-1)[..., -1].double()),
            ("addmm_", lambda there, a, b: there.copy_(there + (a.float() @ b.float()).double())),
            ("mul_", lambda x, other: x.copy_((x.float() * other).double())),
            ("copy_", lambda x, other: x.fill_(0).add_(other.float().double())),
            ("masked_fill_", lambda x, *_: x),
        ],
    )
    def test_by_one_operation(self, name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        device = TorchDevice("cpu")
        torch_source._check_once.cache_clear()
        torch_source._check_products_once.cache_clear()
        monkeypatch.setattr(torch.Tensor, name, wrong)
        with pytest.raises(EngineError, match="device must compute as this processor does, and cpu does not"):
            device.check(300)

    def test_by_flushing_the_smallest_numbers(self) -> None:
        def flushed(x: Any) -> Any:
            return x.where(x.abs() > 2e-38, x.new_zeros(())) if x.dtype == torch.float32 else x

        with pytest.raises(EngineError, match="and cpu does not"):
            check_device(Wrong(flushed))

    def test_by_products_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of many columns, as another routine may multiply them."""
        there = open_source(dpcov.OnDevice(np.zeros((3, 301)), "cpu"))
        exact = torch.Tensor.addmm_
        rough = lambda x, a, b: x.add_((a.float() @ b.float()).double()) if len(a) > 300 else exact(x, a, b)  # noqa: E731
        monkeypatch.setattr(torch.Tensor, "addmm_", rough)
        with pytest.raises(EngineError, match="and cpu does not"):
            there.total(SecondMoment(Grid(1.0), 301))

    def test_a_row_that_is_still_too_long_counts_as_nothing(self) -> None:
        """Whatever it was multiplied by: the sensitivity rests on it."""
        rows = torch.tensor([[3.0, 4.0], [4.0, 4.0], [5.0, 0.0], [float("nan"), 1.0]], dtype=torch.float64)
        device_sums.scale(rows, np.ones(4), np.zeros(4, dtype=np.bool_), 25, TorchDevice("cpu"))
        assert rows.tolist() == [[3.0, 4.0], [0.0, 0.0], [5.0, 0.0], [0.0, 0.0]]

    def test_before_anything_is_read_or_spent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        torch_source._check_once.cache_clear()
        monkeypatch.setattr(torch.Tensor, "round_", lambda x: x.trunc_())

        class Unread:
            shape, dtype = (10, 2), np.dtype(float)

            def __len__(self) -> int:
                return 10

            def __getitem__(self, _: slice) -> Any:
                raise AssertionError("rows were read")

            def part(self, *_: int) -> Any:
                raise AssertionError("rows were read")

        rows: Any = Unread()
        source = torch_source.DeviceArray(torch_source.MovedRows(rows, "cpu"), None, None)
        with pytest.raises(EngineError, match="device must compute as this processor does"):
            source.total(SecondMoment(Grid(1.0), 2))
        monkeypatch.undo()
        torch_source._check_once.cache_clear()

    def test_each_device_is_tried_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        tried: list[str] = []
        monkeypatch.setattr(torch_source, "check_device", lambda device: tried.append(device.name))
        torch_source._check_once.cache_clear()
        source = open_source(dpcov.OnDevice(array(), "cpu"))
        for _ in range(3):
            source.total(SecondMoment(Grid(1.0), 5))
        assert tried == ["cpu"]
        torch_source._check_once.cache_clear()

    def test_rows_that_are_tried_go_every_way(self) -> None:
        """Most are tame; some are on the radius, beyond it, and left to the kernel."""
        rows = hostile(1.0)
        with np.errstate(all="ignore"):
            _, norms, left = device_sums.rounded(Grid(1.0), torch.from_numpy(rows), TorchDevice("cpu"))
        assert 5 <= left.sum() < len(rows) / 10
        assert (norms == 2.0**32).any()
        assert (norms[~left] > 2**32).sum() > 20
        assert (norms < 2**32).sum() > 50


def test_the_pages_example_runs() -> None:
    [code] = blocks(ROOT / "docs" / "engines.md", "python torch")
    exec(code, {})
