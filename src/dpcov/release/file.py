"""Release files: strict JSON with a version and a checksum.

A file is refused when it is truncated, edited, from a newer version, when a key is unknown, missing or twice there, or
when a number is not finite. The checksum guards against damage, not against forgery: whoever can edit a file can
recompute it.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

import numpy as np

from dpcov.errors import EngineError, ParameterError, SchemaError, shown
from dpcov.frame_file import frame_record, read_frame
from dpcov.kernel.answer import Answer, Spend
from dpcov.kernel.budget import NOTIONS, Budget
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.noise.drawn import Bingham, MatrixBingham, Uniform
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.questions.calibrated import LAWS
from dpcov.kernel.questions.moments import NEIGHBORS
from dpcov.options import Option
from dpcov.paths import checked_path, write_whole
from dpcov.release.record import Release
from dpcov.release_check import check_consistent
from dpcov.schema.file import from_record, to_record
from dpcov.spectra import POSTPROCESS
from dpcov.strict_json import Fields, each, fraction_of, read_object, refuse

FORMAT = "dpcov release"
FORMAT_VERSION = 6
"""2 added encoding.center, encoding.schema, 3 the radii of answers, 4 their frames, 5 their columns, 6 a kind: see `SINCE`."""

SINCE = {"covariance": 1, "mean": 1, "pca": 5, "ridge": 6}
"""The kinds of releases, and the version that had them first."""

KINDS: tuple[type[NoiseLaw], ...] = (*LAWS.values(), Bingham, MatrixBingham, Uniform, Exponential, SparseVector)
KIND_OF_LAW = {kind.law: kind for kind in KINDS}


def write(release: Release, path: str | os.PathLike[str]) -> None:
    """Write the release; its file appears whole or not at all."""
    write_whole(checked_path(path), text_of(release))


def text_of(release: Release) -> str:
    """Return the text of a release's file."""
    record = _to_record(release)
    record["checksum"] = _checksum(record)
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in record.items())
    return "{\n" + lines + "\n}\n"


def load(path: str | os.PathLike[str]) -> Release:
    """Read a release file, or refuse it with the reason.

    Raises
    ------
    ReleaseError
        The file is damaged, edited, too new or no release.
    EngineError
        The file cannot be opened.
    """
    source = checked_path(path)
    try:
        text = source.read_text(encoding="utf-8")
    except OSError as error:
        raise EngineError(
            f"path must be a release file that can be read, got {str(source)!r} ({error.strerror}). Hint: check the path."
        ) from None
    except UnicodeDecodeError:
        refuse("text in UTF-8", "other bytes")
    return parse(text)


def parse(text: str) -> Release:
    """Turn the text of a release file into a release."""
    record = read_object(text)
    if record.get("format") != FORMAT:
        refuse(f"a JSON object with format {FORMAT!r}", "something else")
    version = record.get("format_version")
    if type(version) is not int or version < 1:
        refuse("a file with a format_version", shown(version))
    if version > FORMAT_VERSION:
        refuse(f"of format version {FORMAT_VERSION} or older", f"{version}", hint="install a newer dpcov")
    if record.pop("checksum", None) != _checksum(record):
        refuse("unchanged since it was written", "another checksum")
    _bring_up_to_date(record, version)
    try:
        return _from_record(record)
    except (ParameterError, SchemaError) as error:
        refuse("well formed", str(error)[:300])  # it may name a column, as long as the file likes


def _bring_up_to_date(record: dict[str, Any], version: int) -> None:
    """Add what older versions did not have; refuse an old file that has it."""
    added: list[tuple[Any, dict[str, Any]]] = []
    since = SINCE.get(str(record.get("kind")), 1)
    if version < since:
        refuse(f"of format version {since} or newer, for its kind", f"{version}")
    if version < 2:
        added.append((record.get("encoding"), {"center": False, "schema": {}}))
    answers = record.get("answers")
    later: tuple[tuple[int, dict[str, Any]], ...] = ((3, {"radii": []}), (4, {"frame": {}}), (5, {"columns": []}))
    if isinstance(answers, list):
        added += [(answer, fields) for first, fields in later if version < first for answer in answers]
    for part, fields in added:
        if isinstance(part, dict):
            if fields.keys() & part.keys():
                refuse(f"well formed: version {version} has no {' and no '.join(fields)}", "one that has")
            part |= fields


def _to_record(release: Release) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "dpcov_version": release.dpcov_version,
        "kind": release.kind,
        "privacy": release.privacy.to_json(),
        "neighbors": release.neighbors,
        "seeded": release.seeded,
        "n": release.n,
        "feature_names": list(release.feature_names),
        "encoding": {
            "row_norm": release.row_norm,
            "grid_bits": release.grid_bits,
            "center": release.center,
            "schema": {} if release.schema is None else to_record(release.schema),
        },
        "mechanism": release.mechanism,
        "requested": release.requested,
        "options": dict(release.options),
        "postprocess": release.postprocess,
        "spent": [{"asked": spend.asked, "noise": spend.noise, "budget": spend.budget.to_json()} for spend in release.spent],
        "answers": [
            {
                "statistic": answer.statistic,
                "unit_bits": answer.unit_bits,
                "radii": list(answer.radii),
                "frame": {} if answer.frame is None else frame_record(answer.frame),
                "columns": list(answer.columns),
                "noise": {
                    "law": answer.noise.law,
                    "numerics": answer.noise.numerics,
                    "parameters": answer.noise.to_json(),
                },
                "integers": answer.integers.tolist(),
            }
            for answer in release.answers
        ],
    }


def _from_record(record: dict[str, Any]) -> Release:
    fields = Fields(record, "release")
    fields.take("format", str)
    fields.take("format_version", int)
    encoding = Fields(fields.take("encoding", dict), "encoding")
    described = encoding.take("schema", dict)
    release = Release(
        dpcov_version=fields.take("dpcov_version", str),
        kind=fields.choice("kind", SINCE),
        privacy=_budget(fields.take("privacy", dict)),
        neighbors=fields.choice("neighbors", NEIGHBORS),
        seeded=fields.take("seeded", bool),
        n=fields.take("n", int),
        feature_names=tuple(each(fields.take("feature_names", list), str, "feature_names")),
        row_norm=encoding.take("row_norm", float),
        grid_bits=encoding.take("grid_bits", int),
        center=encoding.take("center", bool),
        schema=from_record(described) if described else None,
        mechanism=fields.take("mechanism", str),
        requested=fields.take("requested", str),
        options=_options(fields.take("options", dict)),
        postprocess=fields.choice("postprocess", POSTPROCESS),
        spent=tuple(_spend(entry) for entry in each(fields.take("spent", list), dict, "spent")),
        answers=tuple(_answer(entry) for entry in each(fields.take("answers", list), dict, "answers")),
    )
    encoding.end()
    fields.end()
    check_consistent(release)
    return release


def _options(record: dict[str, Any]) -> dict[str, Option]:
    if any(type(value) not in (str, int, float, bool) for value in record.values()):
        refuse("well formed: options are numbers, text or true and false", "another type")
    return record


def _budget(record: dict[str, Any]) -> Budget:
    fields = Fields(record, "budget")
    kind = NOTIONS[fields.choice("notion", NOTIONS)]
    budget = kind(*(fraction_of(fields.take(name, str)) for name in kind.names))
    fields.end()
    return budget


def _spend(record: dict[str, Any]) -> Spend:
    fields = Fields(record, "spend")
    spend = Spend(fields.take("asked", str), fields.take("noise", str), _budget(fields.take("budget", dict)))
    fields.end()
    return spend


def _noise(record: dict[str, Any]) -> NoiseLaw:
    fields = Fields(record, "noise")
    kind = KIND_OF_LAW[fields.choice("law", KIND_OF_LAW)]
    fields.choice("numerics", [kind.numerics])
    parameters = fields.take("parameters", dict)
    fields.end()
    try:
        return kind.from_json({name: fraction_of(value) for name, value in parameters.items()})
    except (KeyError, TypeError):
        refuse(f"known to this version: noise.parameters are those of {kind.law}", "others")


def _answer(record: dict[str, Any]) -> Answer:
    fields = Fields(record, "answer")
    noise = _noise(fields.take("noise", dict))
    integers = each(fields.take("integers", list), int, "integers")
    if any(not -(2**63) <= value < 2**63 for value in integers):
        refuse("64-bit integers", "larger ones")
    answer = Answer(
        statistic=fields.take("statistic", str),
        integers=np.array(integers, dtype=np.int64),
        unit_bits=fields.take("unit_bits", int),
        noise=noise,
        radii=tuple(each(fields.take("radii", list), float, "radii")),
        frame=read_frame(fields.take("frame", dict)),
        columns=tuple(each(fields.take("columns", list), int, "columns")),
    )
    fields.end()
    return answer


def _checksum(record: dict[str, Any]) -> str:
    canonical = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()
