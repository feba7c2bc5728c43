"""Release files: strict JSON with a version and a checksum.

A file is refused when it is truncated, edited, from a newer version, when a key is unknown, missing or twice there, or
when a number is not finite. The checksum guards against damage, not against forgery: whoever can edit a file can
recompute it. What a file says of its answers is checked question by question (`check`), whatever mechanism asked them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Collection, Mapping, Sequence, Set, ValuesView
from typing import TYPE_CHECKING, Any

from dpcov.errors import EngineError, ParameterError, ReleaseError, SchemaError, shown
from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import NOTIONS, Budget
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.noise.drawn import Bingham, MatrixBingham, Uniform
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.questions.asked import BY_TAG
from dpcov.kernel.questions.calibrated import LAWS
from dpcov.kernel.questions.filing import Reading, Writing, read_frame
from dpcov.kernel.questions.moments import NEIGHBORS
from dpcov.kernel.questions.remade import remade
from dpcov.kernel.rows.aside import Aside
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.groups import Groups
from dpcov.paths import checked_path, write_whole
from dpcov.release.check import check_answers, check_header
from dpcov.release.integers import integers_record, read_integers
from dpcov.release.mark import Mark
from dpcov.release.options import is_option
from dpcov.release.record import TARGETS, Option, Release
from dpcov.schema import is_broken
from dpcov.schema.file import from_record, to_record
from dpcov.strict_json import Fields, each, fraction_of, read_object, refuse

if TYPE_CHECKING:
    from dpcov.mechanisms.base import Mechanism

FORMAT = "dpcov release"
FORMAT_VERSION = 1

KINDS: tuple[type[NoiseLaw], ...] = (*LAWS.values(), Bingham, MatrixBingham, Uniform, Exponential, SparseVector)
KIND_OF_LAW = {kind.law: kind for kind in KINDS}


def write(release: Release, path: str | os.PathLike[str]) -> None:
    """Write the release; its file appears whole or not at all."""
    write_whole(checked_path(path), text_of(release))


def text_of(release: Release) -> str:
    """Return the text of a release's file; one group of it has none."""
    if release.part is not None:
        raise ReleaseError("a group must be saved with its release, got it alone. Hint: save the release; it has all groups.")
    record = _record(release)
    record["checksum"] = _checksum(record)
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in record.items())
    return "{\n" + lines + "\n}\n"


def digest(release: Release) -> str:
    """Return a hash of what was promised and answered, and of the mark: how the estimate is finished is no part of it."""
    return _checksum(_record(dataclasses.replace(release, postprocess="none")))


def _record(release: Release) -> dict[str, Any]:
    """Return all that a file has, but its checksum."""
    writing = Writing(release.answers)
    answers = [_answer_record(answer, writing) for answer in release.answers]
    record = {"format": FORMAT, "format_version": FORMAT_VERSION, **header(release), "frames": writing.frame_records()}
    return {**record, "answers": answers}


def header(release: Release) -> dict[str, Any]:
    """Return what is public of a release, but its answers."""
    encoding = release.encoding
    return {
        "dpcov_version": release.dpcov_version,
        "kind": release.kind,
        "privacy": release.privacy.to_json(),
        "neighbors": release.neighbors,
        "unit": _unit_record(encoding.aside),
        "seeded": release.seeded,
        "n": release.n,
        "encoding": {
            "feature_names": list(encoding.feature_names),
            "row_norm": encoding.row_norm,
            "grid_bits": encoding.bits,
            "constant": encoding.constant,
            "midpoints": encoding.midpoints,
            "pairs": encoding.pairs,
            "schema": {} if encoding.schema is None else to_record(encoding.schema),
            "groups": {} if encoding.groups is None else {"by": encoding.groups.by, "levels": list(encoding.groups.levels)},
        },
        "requested": {"name": release.requested, "options": dict(release.requested_options)},
        "mechanism": {"name": release.mechanism, "options": dict(release.options)},
        "postprocess": release.postprocess,
        "notes": dict(release.notes),
        "ledger": {} if release.ledger is None else dataclasses.asdict(release.ledger),
    }


def load(path: str | os.PathLike[str], mechanisms: Collection[Mechanism] = ()) -> Release:
    """Read a release file, or refuse it with the reason.

    A file that is truncated, edited, contradicts its own promise or comes from a newer format is refused:
    docs/how-it-works.md#the-file says what is checked.

    Parameters
    ----------
    path : path
        What `Release.save` or ``dpcov release`` wrote.
    mechanisms : list of Mechanism, optional
        Mechanisms that are not part of this library. A file of a mechanism that is not known can be read as well: its promise
        and its answers; what needs an estimate is refused.

    Raises
    ------
    ReleaseError
        The file is damaged, edited, too new or no release.
    EngineError
        The file cannot be opened.
    """
    return parse(text_in(path), mechanisms)


def text_in(path: str | os.PathLike[str]) -> str:
    """Return the text of a release file, unread."""
    source = checked_path(path)
    try:
        return source.read_text(encoding="utf-8")
    except OSError as error:
        raise EngineError(
            f"path must be a release file that can be read, got {str(source)!r} ({error.strerror}). Hint: check the path."
        ) from None
    except UnicodeDecodeError:
        refuse("text in UTF-8", "bytes that are not")


def parse(text: str, mechanisms: Collection[Mechanism] = ()) -> Release:
    """Turn the text of a release file into a release."""
    strangers = _checked_strangers(mechanisms)
    record = content(text)
    try:
        return _from_record(record, strangers)
    except (ParameterError, SchemaError) as error:
        refuse("well formed", str(error)[:300])  # it may name a column, as long as the file likes


def content(text: str) -> dict[str, Any]:
    """Return all that the text of a release file says, but its checksum, which must match: what a signature is about."""
    record = read_object(text)
    if record.get("format") != FORMAT:
        refuse(f"a JSON object with format {FORMAT!r}", "something else")
    version = record.get("format_version")
    if type(version) is not int or version < 1:
        refuse("a file with a format_version", shown(version))
    if version > FORMAT_VERSION:
        refuse(f"of format version {FORMAT_VERSION} or older", f"{version}", hint="install a newer dpcov")
    try:
        if record.pop("checksum", None) != _checksum(record):
            refuse("unchanged since it was written", "a checksum that does not match")
    except RecursionError:
        refuse("a flat record", "too many nested brackets")
    return record


def _checked_strangers(mechanisms: Collection[Mechanism]) -> dict[tuple[str, str], Mechanism]:
    from dpcov.mechanisms import is_own
    from dpcov.mechanisms.base import Mechanism

    found: dict[tuple[str, str], Mechanism] = {}
    if not isinstance(mechanisms, Sequence | Set | ValuesView) or not all(isinstance(one, Mechanism) for one in mechanisms):
        raise ParameterError(
            f"mechanisms must be a list of Mechanism records, got {shown(mechanisms)}. Hint: write mechanisms=[MINE]."
        )
    for one in mechanisms:
        if found.setdefault((one.target, one.name), one) is not one:
            raise ParameterError(f"mechanisms must differ, got two called {one.name!r}. Hint: rename one of them.")
    return {known: one for known, one in found.items() if not is_own(one)}


def _from_record(record: dict[str, Any], strangers: Mapping[tuple[str, str], Mechanism]) -> Release:
    fields = Fields(record, "release")
    fields.take("format", str)
    fields.take("format_version", int)
    kind = fields.choice("kind", TARGETS)
    requested, requested_options = _named(fields.take("requested", dict), "requested")
    name, options = _named(fields.take("mechanism", dict), "mechanism")
    answers, frames = fields.take("answers", list), each(fields.take("frames", list), dict, "frames")
    release = Release(
        dpcov_version=_text(fields, "dpcov_version"),
        kind=kind,
        privacy=_budget(fields.take("privacy", dict)),
        neighbors=fields.choice("neighbors", NEIGHBORS),
        seeded=fields.take("seeded", bool),
        n=fields.take("n", int),
        encoding=_encoding(fields.take("encoding", dict), _unit(fields.take("unit", dict))),
        requested=requested,
        requested_options=requested_options,
        mechanism=name,
        options=options,
        postprocess=_text(fields, "postprocess"),
        notes=_options(fields.take("notes", dict)),
        ledger=_mark(fields.take("ledger", dict)),
        answers=(),
        record=strangers.get((kind, name)),
    )
    fields.end()
    check_header(release)
    reading = Reading(release.encoding, [read_frame(frame, release.encoding) for frame in frames])
    for entry in each(answers, dict, "answers"):
        reading.answers.append(_answer(entry, reading))
    if len(reading.used) < len(frames):
        refuse("consistent", "coordinates that no question uses")
    complete = dataclasses.replace(release, answers=tuple(reading.answers))
    check_answers(complete)
    return complete


def _unit_record(aside: Aside | None) -> dict[str, Any]:
    """Return who is protected; nothing where each row is a person."""
    if aside is None:
        return {}
    weighed = {"most_rows": aside.most_rows, "weight": aside.weight, "max_weight": aside.max_weight, "searched": aside.searched}
    return {"column": aside.unit, "finer": aside.finer, "share_bits": aside.share_bits, **weighed}


def _unit(record: dict[str, Any]) -> Aside | None:
    if not record:
        return None
    fields = Fields(record, "unit")
    aside = Aside(
        _text(fields, "column"),
        fields.take("finer", int),
        fields.take("share_bits", int),
        fields.take("most_rows", int),
        _text(fields, "weight"),
        fields.take("max_weight", float),
        fields.take("searched", bool),
    )
    fields.end()
    return aside


def _encoding(record: dict[str, Any], aside: Aside | None) -> Encoding:
    fields = Fields(record, "encoding")
    described, grouped = fields.take("schema", dict), fields.take("groups", dict)
    encoding = Encoding(
        feature_names=tuple(each(fields.take("feature_names", list), str, "feature_names")),
        row_norm=fields.take("row_norm", float),
        bits=fields.take("grid_bits", int),
        constant=fields.take("constant", bool),
        midpoints=fields.take("midpoints", bool),
        pairs=fields.take("pairs", bool),
        schema=from_record(described) if described else None,
        groups=_groups(grouped) if grouped else None,
        aside=aside,
    )
    fields.end()
    return encoding


def _groups(record: dict[str, Any]) -> Groups:
    fields = Fields(record, "groups")
    groups = Groups(_text(fields, "by"), tuple(each(fields.take("levels", list), str, "levels")))
    fields.end()
    return groups


def _mark(record: dict[str, Any]) -> Mark | None:
    if not record:
        return None
    fields = Fields(record, "ledger")
    mark = Mark(fields.take("ledger", str), fields.take("entry", int), fields.take("head", str))
    fields.end()
    return mark


def _named(record: dict[str, Any], what: str) -> tuple[str, dict[str, Option]]:
    fields = Fields(record, what)
    name, options = _text(fields, "name"), _options(fields.take("options", dict))
    fields.end()
    return name, options


def _text(fields: Fields, key: str) -> str:
    """Return text that can be written: no half of a surrogate pair."""
    text = fields.take(key, str)
    return text if not is_broken(text) else refuse(f"well formed: {key} is text", "half of a surrogate pair")


def _options(record: dict[str, Any]) -> dict[str, Option]:
    """Return options that are text, numbers, true, false or nothing, or lists of these, at most two deep."""
    if not all(is_option(name) and is_option(value) for name, value in record.items()):
        refuse("well formed: options are numbers, text, true and false, or lists of them", "another type")
    return record


def _budget(record: dict[str, Any]) -> Budget:
    fields = Fields(record, "budget")
    kind = NOTIONS[fields.choice("notion", NOTIONS)]
    budget = kind(*(fraction_of(fields.take(name, str)) for name in kind.names))
    fields.end()
    return budget


def _answer_record(answer: Answer, writing: Writing) -> dict[str, Any]:
    question = answer.question
    paid = [
        {"law": law.law, "numerics": law.numerics, "parameters": law.to_json(), "charge": charge.to_json()}
        for law, charge in zip(answer.laws, answer.charges, strict=True)
    ]
    return {
        "question": {"asked": question.tag or question.name, **question.to_json(writing), **writing.weighed(question)},
        "noise": paid,
        "integers": integers_record(answer.integers),
    }


def _answer(record: dict[str, Any], reading: Reading) -> Answer:
    fields = Fields(record, "answer")
    asked = Fields(fields.take("question", dict), "question")
    kind = BY_TAG[asked.choice("asked", BY_TAG)]
    question = remade(kind.from_json(asked, reading), reading.weighed(asked))
    asked.end()
    noise = [_noise(entry) for entry in each(fields.take("noise", list), dict, "noise")]
    if len(noise) != len(question.names) or question.size < 1:
        refuse("consistent", f"a {question.name} that was not paid for")
    integers = read_integers(fields, record.get("integers"), question.size)
    fields.end()
    return Answer(question, tuple(law for law, _ in noise), tuple(charge for _, charge in noise), integers)


def _noise(record: dict[str, Any]) -> tuple[NoiseLaw, Budget]:
    fields = Fields(record, "noise")
    kind = KIND_OF_LAW[fields.choice("law", KIND_OF_LAW)]
    fields.choice("numerics", [kind.numerics])
    parameters, charge = fields.take("parameters", dict), _budget(fields.take("charge", dict))
    fields.end()
    try:
        return kind.from_json({name: fraction_of(value) for name, value in parameters.items()}), charge
    except (KeyError, TypeError):
        refuse(f"known to this version: noise.parameters are those of {kind.law}", "other parameters")


def canonical(record: Mapping[str, Any]) -> bytes:
    """Return the one form of a JSON object that does not depend on blanks, the order of keys, or how letters are escaped."""
    return json.dumps(record, sort_keys=True, separators=(",", ":")).encode("ascii")


def _checksum(record: dict[str, Any]) -> str:
    return "sha256:" + hashlib.sha256(canonical(record)).hexdigest()
