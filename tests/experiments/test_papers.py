"""Each paper's experiments are well formed, its known numbers are all there and at places that are run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from experiments.check import AGREES, DIFFERS, check
from experiments.forms import first_known
from experiments.frame import PAPERS, Experiment, experiments, place
from experiments.pages import MARKED, pages
from experiments.results import Record, read_records, results_path
from experiments.targets import SOURCES, Compared, Target, compared, targets

ALL = experiments()
IMAGES = Path(__file__).parents[2] / "docs" / "papers" / "images"
KNOWN = {  # the numbers known of each paper's figures, without their places: as they were collected, to be found in targets.csv
    "amin2019": """2.04/.836/.325/.295 1.85/.51/.25 2.51/2.45/1.66/.50 2.47/2.20/.45/.117 2.47/2.11/.35/.090 2.42/1.70/.21/.051
        .235 .51/.086/.051/.025 1.59/.46/.044/.013 1.50/.23/.025/.007 1.35/.17/.020/.006 .98/.105/.012/.003 .046
        .044/.030/.030/.030 3.17/.45/.050/.024 7.15/4.57/.48/.123 1.34/.132/.014/.003 1.07/.108/.011/.003
        .59/.060/.006/.0015 .021""",
    "amin2018": """.040/.029/.024 .041/.039/.026 .042/.026/.013 .0030 .018 .011/.0093/.0091 .015/.0098/.0079
        .014/.0082/.0075 .0073 .0076 .044/.037/.020 .021/.0087/.0076""",
    "chaudhuri2013": """.6587/.7321/.5672/.5118 .96/.81/.81/.81 98.97 100 98.95 98.18 97.06 98.23 96.28 98.8 93.8 98.3 93.2 98.2
        98.6 98.4 .914/.993/1 .882/.941/1 .830/.834/.919 .843/.965/1 .814/.815/.852 .815/.829/.954 .01 .8 .12 .064""",
    "biswas2020": """.221/.098/.0717 1.066/.226/.125 .281/.102/.0732 1.07 .126 .266 .0721 1.33/.27/.148 1.52/.152/.095
        10.06/2.03/1.04 .85 .113 .34 .086 7.4 .74 .277/19.4/43.2 .276/.273/.274 .255 1.28/1.30/1.34 .33/.32/.32 .041/.0127
        .061/.0133 .047/.0141 .039/.0130 .039/.0126 .041/.0169 1.95/.409/.258 1247/1.13/.60 1.76/.389/.251 1.30/.374/.245
        1.57/.386/.177 213/3.19/.667 1.05/.297/.166 54/1.54/.46 .73/.271/.165 .062/.0014 .057/.0013 .044/−.0008 .024/.0001
        .034/−.005 .010/−.002 2.84/1.94/1.34 .557/.251/.160 .306/.180/.133 .397/.200/.141 1.93 .221 .209 .204 1.65/1.05/.69
        .356/.195/.141 1.20/.81/.60 2.17/2.01/1.72 1.11 .213 .209 .205 .139/.69/114 .138/.211/8.7 .139/.258/.50 .1225
        11.4/3.70/1.37 3.32/.69/.163 2.03/.413/.135 5.39/2.38/.735 .63/.191/.137 .287/.153/.127 .48/.28 .98/.48 .96/.92
        .89/.20 1.00/.99 1.00/.99 .99/.95 1.00/.93 3.10 .496 .249 .34 .24 .96""",
    "dong2022": """.029/.228/1.79 .044/.092/.205 .029/.26/.235 .0077/.065/.448 .011/.054/.056 .0088/.073/.063 .0021/.019/.113
        .0026/.024/.027 .0024/.021/.028 .30/.74 .61/.53/.52 .0118/.0092/.0090 .0154/.0028/.00087 .0136/.0030/.00011
        .521/.0216/2.4e-5 .030 .00065/.036 .00088/.0041 .00075/.0048 .447/.0025 .055/.0017 .027/.0028 .28/.028/.0011
        .041/.0065/.0012 .019/.0076/.0012 2.92/.292/.030 .156/.036/.010 .079/.017/.0048 .292/.0295 .035/.0104 .0174/.0048
        .0295 .0103 .0055 .0020 .050 .158 .116""",
}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_known_number_is_in_the_targets(paper: str) -> None:
    values = {each.value for each in targets(Path("experiments") / paper)}
    known = [float(text.replace("−", "-")) for text in re.findall(r"−?[\d.]+(?:e-\d+)?", KNOWN[paper])]
    assert not [value for value in known if value not in values]
    assert {each.source for each in targets(Path("experiments") / paper)} <= set(SOURCES)


@pytest.mark.parametrize("experiment", ALL, ids=lambda each: each.key)
def test_targets_are_at_places_that_are_run(experiment: Experiment) -> None:
    run = {(p.panel, place(p.x), line) for p in experiment.points(True) for line in p.lines}
    assert not [t for t in targets(experiment.folder, experiment.name) if (t.panel, t.x, t.line) not in run]


def test_targets_are_about_experiments() -> None:
    for paper in PAPERS:
        names = {each.name for each in ALL if each.paper == paper}
        assert {each.experiment for each in targets(Path("experiments") / paper)} <= names


@pytest.mark.parametrize("experiment", ALL, ids=lambda each: each.key)
def test_points_are_well_formed(experiment: Experiment) -> None:
    for quick in (True, False):
        points = experiment.points(quick)
        at = [(p.panel, place(p.x), line) for p in points for line in p.lines]
        assert len(at) == len(set(at))
        assert {p.panel for p in points} <= {panel.name for panel in experiment.panels}
        assert min(p.runs for p in points) >= 1
        assert set(experiment.ours) <= {line for _, _, line in at}
    assert sum(p.runs for p in experiment.points(True)) <= sum(p.runs for p in experiment.points(False))


@pytest.mark.parametrize("experiment", ALL, ids=lambda each: each.key)
def test_results_and_pictures_are_kept_and_small(experiment: Experiment) -> None:
    path = results_path(None, experiment)
    assert read_records(path)
    assert path.stat().st_size < 50_000
    for picture in IMAGES.glob(f"{experiment.paper}-{experiment.name}*.png"):
        assert picture.stat().st_size < 60_000
    assert (IMAGES / f"{experiment.paper}-{experiment.name}.png").exists()


def test_numbers_are_judged_by_their_source() -> None:
    def verdict(value: float, source: str, found: float | None, error: float = 0.0, note: str = "") -> str:
        record = None if found is None else Record("p", "1", "a", "", 3, found, error)
        return Compared(Target("e", "p", "1", "a", value, source, note), record).verdict

    assert verdict(1.0, "A", 1.14) == verdict(1.0, "R", 1.24) == "agrees"
    assert verdict(1.0, "P", 1.16) == "differs"
    assert verdict(1.0, "P", 1.16, note="why") == "differs: why"
    assert verdict(1.0, "P", 0.1, note="an upper bound") == "agrees"
    assert verdict(1.0, "P", 1.2, note="an upper bound") == "differs: an upper bound"
    assert verdict(1.0, "P", 1.16, error=0.1) == "within the runs' own error"
    assert verdict(1.0, "M", 3.0) == "reported"
    assert verdict(1.0, "A", None) == "not run"


def test_the_report_judges_every_claim(capsys: pytest.CaptureFixture[str]) -> None:
    check(None)
    told = capsys.readouterr().out
    for paper in PAPERS:
        assert f"\n{paper}\n" in told
    assert told.count(f"| {AGREES} |") > 20
    assert f"| {DIFFERS} |" in told
    assert "was not run" not in told


def test_a_report_without_results_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(tmp_path)
    told = capsys.readouterr().out
    assert "was not run" in told
    assert f"| {AGREES} |" not in told


def test_a_form_that_the_library_lacks_gives_way_to_the_next() -> None:
    plain = {"mechanism": "coinpress", "rounds": 2}
    assert first_known("covariance", "zcdp", {**plain, "constants": "nobody's"}, plain) == plain
    assert first_known("mean", "zcdp", {"mechanism": "symq", "level": 0.25}, {"mechanism": "symq"}) == {
        "mechanism": "symq",
        "level": 0.25,
    }


def test_a_result_is_put_beside_its_number() -> None:
    experiment = next(each for each in ALL if each.key == "chaudhuri2013 theorem8")
    found = compared(experiment, [Record("1 − φ", "100", "1 − φ, as printed", "", 1, 0.121, 0.0)])
    assert [each.verdict for each in found] == ["agrees", "not run"]


def test_the_pages_say_what_the_results_say() -> None:
    """`python -m experiments pages` writes them."""
    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text
        assert len(MARKED.findall(text)) == 3
