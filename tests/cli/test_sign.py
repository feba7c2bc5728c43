"""``dpcov sign`` and ``dpcov verify``, and twenty ways to get each wrong."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dpcov
from dpcov.custody import signature_file
from tests.cli.shell import PROGRAM, call


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two people with keys, and a release that one of them signed."""
    monkeypatch.chdir(tmp_path)
    dpcov.covariance(np.full((100, 2), 0.5), dpcov.ZCDP("0.25"), row_norm=1).save("trees.json")
    for owner in ("office", "auditor"):
        dpcov.new_signing_key(owner)
    Path("passphrase").write_text("open sesame\nsecond line\n", encoding="utf-8")
    Path("passphrase").chmod(0o600)
    dpcov.new_signing_key("locked", passphrase="open sesame")
    dpcov.sign("trees.json", "office", name="The office")
    return tmp_path


class TestTheWay:
    def test_from_key_to_verdict(self) -> None:
        made = call("sign", "keygen", "mine", "--no-passphrase", "--json")
        assert made.code == 0
        key = json.loads(made.out)
        assert (key["private"], key["public"]) == ("mine", "mine.pub")
        signed = call("sign", "trees.json", "--key", "mine", "--name", "Me")
        assert signed.out == f"Signed; trees.json.sig has the signature of key {key['fingerprint']}.\n"
        found = call("verify", "trees.json", "--key", "mine.pub")
        assert (found.code, found.err) == (0, "")
        assert found.out.startswith("trees.json: VERIFIED. It is as mine signed it.\n")
        assert f"signed by mine, key {key['fingerprint']}, who claims to be 'Me'" in found.out
        assert "signed by an owner whom you did not name" in found.out
        assert "who claims to be 'The office': this counts for nothing" in found.out
        assert "rho = 0.25 (replace)" in found.out

    def test_the_command_may_be_named(self) -> None:
        assert call("sign", "file", "trees.json", "--key", "auditor").code == 0
        assert call("sign", "--key", "auditor", "trees.json").code == 0
        assert call("verify", "trees.json", "--key", "auditor.pub", "--key", "Statistics office=office.pub").code == 0

    def test_a_passphrase_comes_from_a_file(self) -> None:
        assert call("sign", "trees.json", "--key", "locked", "--passphrase-file", "passphrase").code == 0
        assert call("verify", "trees.json", "--key", "locked.pub").code == 0
        assert call("sign", "keygen", "new", "--passphrase-file", "passphrase").code == 0
        assert "ENCRYPTED" in Path("new").read_text()

    def test_the_public_key_can_be_had_again(self) -> None:
        again = call("sign", "public", "locked", "-o", "again.pub", "--passphrase-file", "passphrase", "--json")
        assert again.code == 0
        assert Path("again.pub").read_bytes() == Path("locked.pub").read_bytes()

    def test_a_passphrase_is_asked_for_on_a_terminal_and_not_shown(self) -> None:
        code, shown = typed(["sign", "keygen", "typed"], ["open sesame", "open sesame"])
        assert code == 0, shown
        code, shown = typed(["sign", "trees.json", "--key", "typed"], ["open sesame"])
        assert code == 0, shown
        assert "sesame" not in shown
        assert call("verify", "trees.json", "--key", "typed.pub").code == 0

    def test_machines_get_the_verdict_and_who(self) -> None:
        found = call("verify", "trees.json", "--key", "Office=office.pub", "--key", "auditor.pub", "--json")
        assert found.code == 3
        told = json.loads(found.out)
        assert (told["file"], told["verified"]) == ("trees.json", False)
        (signer,) = told["signers"]
        assert (signer["trusted_name"], signer["claimed_name"], signer["good"]) == ("Office", "The office", True)
        assert [one["trusted_name"] for one in told["missing"]] == ["auditor"]

    def test_what_was_edited_is_not_verified(self) -> None:
        release = dpcov.load("trees.json")
        release.finished("none").save("trees.json")
        found = call("verify", "trees.json", "--key", "office.pub")
        assert found.code == 3
        assert found.out.startswith("trees.json: NOT VERIFIED.\n- the signature by office, key ")

    def test_a_claim_cannot_steer_a_terminal(self) -> None:
        assert call("sign", "trees.json", "--key", "office", "--name", "\x1b[2J\nVERIFIED").code == 0
        found = call("verify", "trees.json", "--key", "office.pub")
        assert "\x1b" not in found.out
        assert "\nVERIFIED" not in found.out
        assert r"\\x1b[2J\\nVERIFIED" in found.out


def typed(arguments: list[str], answers: list[str]) -> tuple[int, str]:
    """Run a command as at a terminal; return its code, and what the terminal shows."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*PROGRAM, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as process:
        os.close(theirs)
        shown = b""
        for answer in [*answers, None]:
            while answer is None or not shown.endswith(b": "):
                try:
                    some = os.read(ours, 1000)
                except OSError:  # the other end is closed
                    some = b""
                if not some:
                    break
                shown += some
            if answer is not None:
                os.write(ours, answer.encode() + b"\n")
                shown += b"\n"
        os.close(ours)
    return process.returncode, shown.decode()


def nothing() -> None:
    pass


def cut(name: str, length: int) -> Callable[[], object]:
    return lambda: Path(name).write_bytes(Path(name).read_bytes()[:length])


def edit(name: str, old: str, new: str) -> Callable[[], object]:
    return lambda: Path(name).write_text(Path(name).read_text().replace(old, new))


SIG = "trees.json.sig"
VERIFY, SIGN = ["verify", "trees.json"], ["sign", "trees.json"]
BAD: list[tuple[Callable[[], object], list[str], int, str]] = [
    (nothing, ["verify"], 2, "Missing argument 'RELEASE'"),
    (nothing, VERIFY, 2, "Missing option '--key'"),
    (nothing, ["verify", "nowhere.json", "--key", "office.pub"], 4, "No such file"),
    (nothing, ["verify", ".", "--key", "office.pub"], 2, "must be the name of a file"),
    (nothing, ["verify", "office", "--key", "office.pub"], 2, "must be what `dpcov release`"),
    (nothing, [*VERIFY, "--key", "nowhere.pub"], 4, "key must be in a file that can be read"),
    (nothing, [*VERIFY, "--key", "Me="], 2, "must be the name of a file"),
    (nothing, [*VERIFY, "--key", ""], 2, "a name of a key must be text"),
    (nothing, [*VERIFY, "--key", "=office.pub"], 2, "a name of a key must be text"),
    (nothing, [*VERIFY, "--key", "office"], 2, "a private one, which stays with whoever signs"),
    (nothing, [*VERIFY, "--key", "trees.json"], 2, "must be a public Ed25519 key in PEM, got another file"),
    (nothing, [*VERIFY, "--key", "office.pub", "--key", "office.pub"], 2, "must have a name of its own, got 'office' twice"),
    (nothing, [*VERIFY, "--key", "a=office.pub", "--key", "b=office.pub"], 2, "must differ"),
    (nothing, [*VERIFY, "--key", "office.pub", "--signatures", "nowhere"], 4, "signatures must be in a file that can be read"),
    (nothing, [*VERIFY, "--key", "office.pub", "--signatures", "trees.json"], 2, "signature file must be"),
    (nothing, [*VERIFY, "--key", "office.pub", "--signatures", "."], 2, "must be the name of a file"),
    (nothing, [*VERIFY, "--keys", "office.pub"], 2, "Did you mean '--key'?"),
    (cut("trees.json", 900), [*VERIFY, "--key", "office.pub"], 2, "must be whole JSON"),
    (edit("trees.json", '"replace"', '"add-remove"'), [*VERIFY, "--key", "office.pub"], 2, "a checksum that does not match"),
    (cut(SIG, 200), [*VERIFY, "--key", "office.pub"], 2, "signature file must be whole JSON"),
    (edit(SIG, '"\n    }', '0"\n    }'), [*VERIFY, "--key", "office.pub"], 2, "a signature has 128 hexadecimal digits"),
    (cut("office.pub", 50), [*VERIFY, "--key", "office.pub"], 2, "a damaged one"),
    (lambda: Path("trees.json").write_bytes(b"\xff\xfe"), [*VERIFY, "--key", "office.pub"], 2, "must be text in UTF-8"),
    (nothing, ["sign"], 2, "Usage"),
    (nothing, SIGN, 2, "Missing option '--key'"),
    (nothing, ["sign", "nowhere.json", "--key", "office"], 4, "No such file"),
    (nothing, ["sign", "kegen"], 2, "Missing option '--key'"),
    (nothing, [*SIGN, "--key", "nowhere"], 4, "No such file"),
    (nothing, [*SIGN, "--key", "."], 2, "must be the name of a file"),
    (nothing, [*SIGN, "--key", "office.pub"], 2, "key must be the private one, got 'office.pub'"),
    (nothing, [*SIGN, "--key", "passphrase"], 2, "must be a private Ed25519 key in PEM, got another file"),
    (nothing, [*SIGN, "--key", "locked"], 2, "passphrase must be given for an encrypted key"),
    (nothing, [*SIGN, "--key", "office", "--passphrase-file", "passphrase"], 2, "passphrase must be left out"),
    (nothing, [*SIGN, "--key", "locked", "--passphrase-file", "office"], 2, "passphrase must be that of the key"),
    (nothing, [*SIGN, "--key", "locked", "--passphrase-file", "nowhere"], 4, "a passphrase must be in a file that only you"),
    (nothing, [*SIGN, "--key", "locked", "--passphrase-file", "office.pub"], 4, "which others can"),
    (
        lambda: Path("office").chmod(0o644),
        [*SIGN, "--key", "office"],
        4,
        "--key must be in a file that only you can read",
    ),
    (lambda: os.link("office", "copy"), [*SIGN, "--key", "office"], 4, "which has other names"),
    (lambda: Path("l").symlink_to("office"), [*SIGN, "--key", "l"], 4, "--key must be in a file"),
    (nothing, [*SIGN, "--key", "office", "--name", "n" * 201], 2, "name must be text of at most 200 characters"),
    (cut("office", 60), [*SIGN, "--key", "office"], 2, "a damaged one"),
    (lambda: Path(SIG).write_text("[]"), [*SIGN, "--key", "auditor"], 2, "signature file must be what"),
    (lambda: Path(SIG).unlink() or Path(SIG).mkdir(), [*SIGN, "--key", "auditor"], 4, "signatures must be in a file"),  # type: ignore[func-returns-value]
    (nothing, ["sign", "keygen"], 2, "Missing argument 'KEY'"),
    (nothing, ["sign", "keygen", "office", "--no-passphrase"], 2, "exists"),
    (nothing, ["sign", "keygen", ".", "--no-passphrase"], 2, "must be the name of a file"),
    (nothing, ["sign", "keygen", "no/such/folder", "--no-passphrase"], 4, "that can be written"),
    (nothing, ["sign", "keygen", "new", "--no-passphrase", "--passphrase-file", "passphrase"], 2, "leave one of them out"),
    (nothing, ["sign", "keygen", "new", "--passphrase-file", "nowhere"], 4, "a passphrase must be in a file"),
    (nothing, ["sign", "public", "office"], 2, "Missing option"),
    (nothing, ["sign", "public", "office", "-o", "locked.pub"], 2, "output must not exist yet"),
    (nothing, ["sign", "public", "office.pub", "-o", "new.pub"], 2, "key must be the private one"),
]


@pytest.mark.parametrize(("before", "arguments", "code", "said"), BAD)
def test_what_is_wrong_is_said_in_one_line(before: Callable[[], object], arguments: list[str], code: int, said: str) -> None:
    before()
    kept = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    found = call(*arguments)
    assert found.code == code, found.err
    assert said in found.err
    assert "Traceback" not in found.err
    if said != "Usage":
        assert len(found.err.splitlines()) == 1
        assert "Hint: " in found.err
    assert "sesame" not in found.err
    assert {path: path.read_bytes() for path in Path().iterdir() if path.is_file()} == kept


def test_without_a_terminal_no_passphrase_is_asked_for() -> None:
    run = subprocess.run([*PROGRAM, "sign", "keygen", "new"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert run.returncode == 2
    assert "there is no terminal to ask on" in run.stderr
    assert not Path("new").exists()


def test_help_is_quick(tmp_path: Path) -> None:
    """It imports neither the package for signatures nor numpy."""
    code = "import sys\nfrom dpcov.cli import main\ntry: main(['verify', '--help'])\nexcept SystemExit: pass\n"
    code += "print({'cryptography', 'numpy'} & sys.modules.keys())"
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout.endswith("set()\n")


def test_signatures_stand_beside_the_release() -> None:
    assert signature_file.beside(Path("a/b.json")) == Path("a/b.json.sig")
