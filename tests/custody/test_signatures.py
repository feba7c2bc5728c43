"""Signatures: who released a file, and that nothing in it was edited since."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa, x25519
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import dpcov
from dpcov import paths
from dpcov.custody import ed25519, signature_file
from dpcov.custody.signing import DOMAIN, fingerprint, message_of
from dpcov.errors import DpcovError
from dpcov.release.file import canonical, content

VECTORS = [  # RFC 8032, section 7.1: private key, public key, message, signature
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        b"",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a"
        "100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        bytes.fromhex("72"),
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb"
        "0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        bytes.fromhex("af82"),
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1e"
        "c40a",
    ),
    (
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        hashlib.sha512(b"abc").digest(),
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331"
        "a704",
    ),
]


@pytest.fixture(scope="module")
def paid(tmp_path_factory: pytest.TempPathFactory) -> dpcov.Release:
    """A release that a ledger paid for."""
    ledger = dpcov.Ledger.create(tmp_path_factory.mktemp("ledger") / "budget.db")
    ledger.add("trees", dpcov.ZCDP(1))
    return dpcov.covariance(np.full((100, 2), 0.5), dpcov.ZCDP("0.25"), row_norm=1, ledger=ledger.dataset("trees"))


@pytest.fixture
def release(paid: dpcov.Release, tmp_path: Path) -> Path:
    path = tmp_path / "trees.json"
    paid.save(path)
    return path


@pytest.fixture
def key(tmp_path: Path) -> Path:
    dpcov.new_signing_key(tmp_path / "office")
    return tmp_path / "office"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    dpcov.new_signing_key(tmp_path / "auditor")
    return tmp_path / "auditor"


def public(key: Path) -> Path:
    return key.with_name(key.name + ".pub")


def is_verified(release: Path, *keys: Path) -> bool:
    """The verdict; an edited file may also be refused before it comes to that."""
    try:
        return dpcov.verify_signatures(release, [public(key) for key in keys]).verified
    except DpcovError:
        return False


def edited(release: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Edit a file as a forger would: with a checksum that matches."""
    record = json.loads(release.read_text())
    edit(record)
    del record["checksum"]
    record["checksum"] = "sha256:" + hashlib.sha256(canonical(record)).hexdigest()
    release.write_text(json.dumps(record))


def entries(release: Path) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(signature_file.beside(release).read_text())["signatures"]
    return found


def with_entries(release: Path, changed: list[dict[str, str]]) -> None:
    record = {"format": "dpcov signatures", "format_version": 1, "signatures": changed}
    signature_file.beside(release).write_text(json.dumps(record))


class TestTheLibrary:
    @pytest.mark.parametrize(("secret", "shared", "message", "signature"), VECTORS)
    def test_it_is_ed25519_as_printed(self, secret: str, shared: str, message: bytes, signature: str) -> None:
        private, known = bytes.fromhex(secret), bytes.fromhex(shared)
        assert ed25519.public_of(private) == known
        assert ed25519.signature_of(private, message).hex() == signature
        assert ed25519.is_signature(known, bytes.fromhex(signature), message)
        assert not ed25519.is_signature(known, bytes.fromhex(signature), message + b"\0")

    def test_a_signature_that_is_too_long_in_its_second_half_is_refused(self) -> None:
        """S + L is the same number modulo the order of the group: who took it would have two signatures for one."""
        order = 2**252 + 27742317777372353535851937790883648493
        _, shared, message, signature = VECTORS[2]
        first, second = bytes.fromhex(signature)[:32], int.from_bytes(bytes.fromhex(signature)[32:], "little")
        assert not ed25519.is_signature(bytes.fromhex(shared), first + (second + order).to_bytes(32, "little"), message)

    def test_an_error_is_no_verdict(self) -> None:
        """What cannot be checked must not count as checked: a key of 31 bytes ends in an error."""
        with pytest.raises(ValueError):
            ed25519.is_signature(bytes(31), bytes(64), b"")

    def test_keys_are_new_each_time(self) -> None:
        assert len({ed25519.new_private() for _ in range(100)}) == 100


class TestWhatIsSigned:
    def test_it_is_all_that_the_file_says_under_its_own_words(self, release: Path, key: Path) -> None:
        dpcov.sign(release, key, name="The office")
        said = json.loads(release.read_text())
        del said["checksum"]
        (entry,) = entries(release)
        message = b"dpcov release signature, version 1\0" + json.dumps(
            {"name": "The office", "release": said}, sort_keys=True, separators=(",", ":")
        ).encode("ascii")
        assert ed25519.is_signature(bytes.fromhex(entry["key"]), bytes.fromhex(entry["signature"]), message)
        assert message[: len(DOMAIN)] == DOMAIN

    @pytest.mark.parametrize(
        "part", ["ledger", "answers", "privacy", "encoding", "postprocess", "requested", "notes", "n", "seeded"]
    )
    def test_every_part_is_in_the_message(self, release: Path, part: str) -> None:
        said = content(release.read_text())
        assert part in said
        assert message_of(said, "") != message_of({name: value for name, value in said.items() if name != part}, "")

    def test_a_release_signed_by_hand_verifies(self, release: Path, tmp_path: Path) -> None:
        """By another program, after docs/signing.md: with the package alone."""
        private = Ed25519PrivateKey.generate()
        pem = private.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        (tmp_path / "hand.pub").write_bytes(pem)
        said = json.loads(release.read_text())
        del said["checksum"]
        body = json.dumps({"name": "", "release": said}, sort_keys=True, separators=(",", ":"))
        made = private.sign(b"dpcov release signature, version 1\0" + body.encode())
        with_entries(release, [{"key": private.public_key().public_bytes_raw().hex(), "name": "", "signature": made.hex()}])
        assert is_verified(release, tmp_path / "hand")


class TestSeveralAtOnce:
    def test_none_of_them_is_lost(self, release: Path, tmp_path: Path) -> None:
        """Each process reads the signatures that are there, and writes them with its own."""
        keys = [tmp_path / f"signer-{number}" for number in range(6)]
        for one in keys:
            dpcov.new_signing_key(one)
        children = []
        for one in keys:
            child = os.fork()
            if child == 0:
                try:
                    dpcov.sign(release, one)
                except BaseException:
                    os._exit(1)
                os._exit(0)
            children.append(child)
        assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 6
        assert is_verified(release, *keys)

    def test_one_that_never_ends_is_named(self, release: Path, key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(paths, "PATIENCE", 0.05)
        with paths.one_at_a_time(release, "signatures"), pytest.raises(dpcov.EngineError, match="one process at a time"):
            dpcov.sign(release, key)
        assert not signature_file.beside(release).exists()
        dpcov.sign(release, key)


class TestVerifying:
    def test_a_signed_release_verifies_and_is_as_it_was(self, release: Path, key: Path) -> None:
        before = release.read_bytes()
        dpcov.sign(release, key)
        assert release.read_bytes() == before
        found = dpcov.verify_signatures(release, {"The office": public(key)})
        assert found.verified
        assert [(one.trusted_name, one.good) for one in found.signers] == [("The office", True)]
        assert found.missing == {}

    def test_a_name_is_the_verifiers_own_and_a_claim_is_called_one(self, release: Path, key: Path) -> None:
        dpcov.sign(release, key, name="The central bank")
        (signer,) = dpcov.verify_signatures(release, {"My neighbour": public(key)}).signers
        assert (signer.trusted_name, signer.claimed_name) == ("My neighbour", "The central bank")
        assert signer.fingerprint == hashlib.sha256(bytes.fromhex(entries(release)[0]["key"])).hexdigest()
        assert len(signer.fingerprint) == 64

    def test_another_key_does_not_verify(self, release: Path, key: Path, other: Path) -> None:
        dpcov.sign(release, key)
        found = dpcov.verify_signatures(release, [public(other)])
        assert not found.verified
        assert list(found.missing) == ["auditor"]
        assert [(one.trusted_name, one.good) for one in found.signers] == [(None, True)]

    def test_all_trusted_keys_must_have_signed(self, release: Path, key: Path, other: Path) -> None:
        dpcov.sign(release, key)
        assert not is_verified(release, key, other)
        dpcov.sign(release, other)
        assert is_verified(release, key, other)
        assert is_verified(release, other)
        assert len(entries(release)) == 2

    def test_signing_anew_replaces_ones_own_signature(self, release: Path, key: Path) -> None:
        dpcov.sign(release, key, name="old")
        dpcov.sign(release, key, name="new")
        assert [entry["name"] for entry in entries(release)] == ["new"]

    def test_no_signature_of_a_stranger_counts(self, release: Path, key: Path, other: Path) -> None:
        dpcov.sign(release, key)
        dpcov.sign(release, other)
        with_entries(release, [entry for entry in entries(release) if entry["key"] != entries(release)[0]["key"]])
        assert not is_verified(release, key)

    def test_blanks_and_the_order_of_keys_do_not_matter(self, release: Path, key: Path) -> None:
        dpcov.sign(release, key)
        record = json.loads(release.read_text())
        release.write_text(json.dumps(dict(sorted(record.items())), indent=7) + "\n\n")
        assert is_verified(release, key)
        dpcov.load(release).save(release)
        assert is_verified(release, key)

    def test_letters_may_be_escaped(self, release: Path, key: Path) -> None:
        dpcov.sign(release, key)
        release.write_text(release.read_text().replace('"x0"', '"\\u0078\\u0030"'))
        assert is_verified(release, key)

    @pytest.mark.parametrize(
        "make",
        [
            lambda: dpcov.covariance(np.full((100, 150), 0.01), dpcov.ZCDP(1), row_norm=1),  # its integers are packed
            lambda: dpcov.mean(np.full((100, 2), 0.5), dpcov.ZCDP(1), radius=10),
            lambda: dpcov.pca(np.full((100, 3), 0.5), dpcov.PureDP(1), 1, row_norm=1),
            lambda: dpcov.ridge(np.full((100, 3), 0.5), dpcov.PureDP(1), "x1", alpha=0.1, row_norm=1),
        ],
    )
    def test_every_kind_of_release_can_be_signed(self, make: Callable[[], dpcov.Release], key: Path, tmp_path: Path) -> None:
        make().save(tmp_path / "one.json")
        dpcov.sign(tmp_path / "one.json", key)
        assert is_verified(tmp_path / "one.json", key)


class TestEdits:
    @pytest.mark.parametrize(
        "edit",
        [
            lambda record: record["ledger"].update(entry=record["ledger"]["entry"] + 1),
            lambda record: record.update(ledger={}),
            lambda record: record.update(postprocess="none"),
            lambda record: record["requested"].update(name="gaussian"),
            lambda record: record.update(dpcov_version="9.9"),
            lambda record: record["encoding"].update(feature_names=["a", "b"]),
            lambda record: record["encoding"].update(row_norm=2.0),
            lambda record: record["answers"][-1]["integers"].__setitem__(0, record["answers"][-1]["integers"][0] + 1),
        ],
    )
    def test_an_edit_shows_although_the_file_loads(self, release: Path, key: Path, edit: Callable[[Any], None]) -> None:
        dpcov.sign(release, key)
        edited(release, edit)
        dpcov.load(release)
        found = dpcov.verify_signatures(release, [public(key)])
        assert not found.verified
        assert [one.good for one in found.signers] == [False]

    def test_what_a_signer_claims_cannot_be_edited(self, release: Path, key: Path) -> None:
        dpcov.sign(release, key, name="The office")
        with_entries(release, [{**entries(release)[0], "name": "The ministry"}])
        assert not is_verified(release, key)

    @pytest.mark.parametrize("step", [149, pytest.param(1, marks=pytest.mark.audit)])
    def test_no_flipped_bit_of_the_release_verifies_as_something_else(self, release: Path, key: Path, step: int) -> None:
        """Every region of the file: blanks may become other blanks; whatever is said otherwise must not verify."""
        dpcov.sign(release, key)
        text = release.read_bytes()
        said = content(text.decode())
        for bit in range(0, 8 * len(text), step):
            flipped = bytearray(text)
            flipped[bit // 8] ^= 1 << bit % 8
            release.write_bytes(flipped)
            if is_verified(release, key):
                assert content(flipped.decode()) == said, f"bit {bit}"

    @pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.audit)])
    def test_no_flipped_bit_of_a_signature_verifies(self, release: Path, key: Path, step: int) -> None:
        dpcov.sign(release, key, name="office")
        path = signature_file.beside(release)
        text = path.read_bytes()
        for bit in range(0, 8 * len(text), step):
            flipped = bytearray(text)
            flipped[bit // 8] ^= 1 << bit % 8
            path.write_bytes(flipped)
            if is_verified(release, key):
                assert json.loads(flipped) == json.loads(text), f"bit {bit}"

    def test_keys_that_stand_twice_are_refused(self, release: Path, key: Path) -> None:
        dpcov.sign(release, key)
        text = release.read_text()
        release.write_text(text.replace('"neighbors": "replace"', '"neighbors": "replace", "neighbors": "replace"'))
        with pytest.raises(dpcov.ReleaseError, match="without repeated keys"):
            dpcov.verify_signatures(release, [public(key)])
        release.write_text(text)
        path = signature_file.beside(release)
        path.write_text(path.read_text().replace('"name": ""', '"name": "", "name": ""'))
        with pytest.raises(dpcov.ReleaseError, match=r"^signature file must be without repeated keys"):
            dpcov.verify_signatures(release, [public(key)])

    def test_swapped_signatures_do_not_verify(self, release: Path, key: Path, other: Path) -> None:
        dpcov.sign(release, key)
        dpcov.sign(release, other)
        first, second = entries(release)
        with_entries(release, [first | {"signature": second["signature"]}, second | {"signature": first["signature"]}])
        assert not is_verified(release, key)
        assert not is_verified(release, other)

    def test_a_signature_of_another_release_does_not_verify(self, release: Path, key: Path, tmp_path: Path) -> None:
        twin = tmp_path / "twin.json"
        dpcov.covariance(np.full((100, 2), 0.5), dpcov.ZCDP("0.25"), row_norm=1).save(twin)
        dpcov.sign(twin, key)
        signature_file.beside(twin).rename(signature_file.beside(release))
        assert not is_verified(release, key)

    def test_a_signature_of_the_same_bytes_without_the_words_in_front_does_not_verify(self, release: Path, key: Path) -> None:
        dpcov.sign(release, key)
        private = serialization.load_pem_private_key(key.read_bytes(), None)
        assert isinstance(private, Ed25519PrivateKey)
        bare = private.sign(canonical({"name": "", "release": content(release.read_text())}))
        with_entries(release, [entries(release)[0] | {"signature": bare.hex()}])
        assert not is_verified(release, key)

    def test_nothing_is_added_beside_signatures_of_something_else(self, release: Path, key: Path, other: Path) -> None:
        dpcov.sign(release, key)
        edited(release, lambda record: record.update(postprocess="none"))
        before = signature_file.beside(release).read_bytes()
        with pytest.raises(dpcov.ReleaseError, match="about this release, got one that is not"):
            dpcov.sign(release, other)
        assert signature_file.beside(release).read_bytes() == before


GOOD = {"key": "0" * 64, "name": "", "signature": "0" * 128}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "what `dpcov sign` wrote"),
        ("[]", "what `dpcov sign` wrote"),
        ("{", "whole JSON"),
        ("{}", "file.format"),
        (json.dumps({"format": "dpcov release"}), "file.format"),
        (json.dumps({"format": "dpcov signatures", "format_version": 2, "signatures": []}), "format version 1, got 2"),
        (
            json.dumps({"format": "dpcov signatures", "format_version": 1, "signatures": [], "algorithm": "none"}),
            "no other field",
        ),
        (
            json.dumps({"format": "dpcov signatures", "format_version": 1, "signatures": [GOOD | {"algorithm": "x"}]}),
            "no other",
        ),
        (
            json.dumps({"format": "dpcov signatures", "format_version": 1, "signatures": [GOOD, GOOD]}),
            "two signatures by one key",
        ),
        (
            json.dumps({"format": "dpcov signatures", "format_version": 1, "signatures": [GOOD | {"signature": "0" * 126}]}),
            "128",
        ),
        (
            json.dumps({"format": "dpcov signatures", "format_version": 1, "signatures": [GOOD | {"signature": "A" * 128}]}),
            "128",
        ),
        (json.dumps({"format": "dpcov signatures", "format_version": 1, "signatures": [GOOD | {"key": "0" * 62}]}), "64"),
        (json.dumps({"format": "dpcov signatures", "format_version": 1, "signatures": [GOOD | {"name": "n" * 201}]}), "200"),
        (json.dumps({"format": "dpcov signatures", "format_version": 1, "signatures": [GOOD | {"name": "\ud800"}]}), "200"),
        (json.dumps({"format": "dpcov signatures", "format_version": 1, "signatures": ["x"]}), "only dict"),
        ("{" + " " * 2**20, "at most 1 MB"),
    ],
)
def test_a_file_of_signatures_that_none_wrote_is_refused(release: Path, key: Path, text: str, said: str) -> None:
    signature_file.beside(release).write_text(text, encoding="utf-8")
    with pytest.raises(dpcov.ReleaseError, match=r"^signature file must be ") as error:
        dpcov.verify_signatures(release, [public(key)])
    assert said in str(error.value)


class TestKeys:
    def test_a_private_key_is_its_owners_alone(self, key: Path) -> None:
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        assert b"PRIVATE" not in public(key).read_bytes()

    def test_neither_file_is_replaced_nor_a_link_followed(self, key: Path, tmp_path: Path) -> None:
        before = key.read_bytes(), public(key).read_bytes()
        with pytest.raises(dpcov.ParameterError, match="exists"):
            dpcov.new_signing_key(key)
        public(key).rename(tmp_path / "kept.pub")
        with pytest.raises(dpcov.ParameterError, match="which exists"):
            dpcov.new_signing_key(key)
        assert (key.read_bytes(), (tmp_path / "kept.pub").read_bytes()) == before
        (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(dpcov.ParameterError, match="which exists"):
            dpcov.new_signing_key(tmp_path / "link")
        (tmp_path / "two.pub").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(dpcov.ParameterError, match="exists"):
            dpcov.new_signing_key(tmp_path / "two")
        assert not (tmp_path / "elsewhere").exists()

    def test_a_passphrase_is_needed_and_must_be_right(self, release: Path, tmp_path: Path) -> None:
        key = tmp_path / "locked"
        dpcov.new_signing_key(key, passphrase="grün und lang")
        assert b"ENCRYPTED" in key.read_bytes()
        with pytest.raises(dpcov.ParameterError, match="passphrase must be given for an encrypted key"):
            dpcov.sign(release, key)
        with pytest.raises(dpcov.ParameterError, match="passphrase must be that of the key") as error:
            dpcov.sign(release, key, passphrase="SECRET")
        assert "SECRET" not in str(error.value)
        assert error.value.__cause__ is None
        assert error.value.__suppress_context__
        dpcov.sign(release, key, passphrase="grün und lang")
        assert is_verified(release, key)

    def test_a_passphrase_for_a_key_without_one_is_refused(self, release: Path, key: Path) -> None:
        with pytest.raises(dpcov.ParameterError, match="left out"):
            dpcov.sign(release, key, passphrase="x")

    @pytest.mark.parametrize("passphrase", ["", 5, b"bytes", "\ud800", "x" * 1001])
    def test_a_passphrase_that_is_none_is_refused(self, tmp_path: Path, passphrase: Any) -> None:
        with pytest.raises(dpcov.ParameterError, match="passphrase must be text of 1 to 1000 bytes"):
            dpcov.new_signing_key(tmp_path / "new", passphrase=passphrase)
        assert not (tmp_path / "new").exists()

    @pytest.mark.parametrize(
        "kind",
        [ed448.Ed448PrivateKey.generate, x25519.X25519PrivateKey.generate, lambda: ec.generate_private_key(ec.SECP256R1())],
    )
    def test_a_key_of_another_kind_is_refused(self, release: Path, key: Path, tmp_path: Path, kind: Callable[[], Any]) -> None:
        dpcov.sign(release, key)
        written(tmp_path / "odd", kind())
        with pytest.raises(dpcov.ParameterError, match="an Ed25519 key, got one of another kind"):
            dpcov.sign(release, tmp_path / "odd")
        with pytest.raises(dpcov.ParameterError, match="an Ed25519 key, got one of another kind"):
            dpcov.verify_signatures(release, [tmp_path / "odd.pub"])

    @pytest.mark.audit
    def test_an_rsa_key_is_refused(self, release: Path, tmp_path: Path) -> None:
        """Apart, since it takes a second to make one."""
        written(tmp_path / "odd", rsa.generate_private_key(65537, 2048))
        with pytest.raises(dpcov.ParameterError, match="an Ed25519 key, got one of another kind"):
            dpcov.sign(release, tmp_path / "odd")

    def test_the_wrong_half_is_refused(self, release: Path, key: Path) -> None:
        dpcov.sign(release, key)
        with pytest.raises(dpcov.ParameterError, match="must be the private one"):
            dpcov.sign(release, public(key))
        with pytest.raises(dpcov.ParameterError, match="got a private one, which stays with whoever signs"):
            dpcov.verify_signatures(release, [key])

    @pytest.mark.parametrize("length", [0, 30, 60, 100])
    def test_a_key_that_was_cut_short_is_refused(self, release: Path, key: Path, length: int) -> None:
        dpcov.sign(release, key)
        for file in (key, public(key)):
            file.write_bytes(file.read_bytes()[:length])
        with pytest.raises(dpcov.ParameterError, match="key must be"):
            dpcov.sign(release, key)
        with pytest.raises(dpcov.ParameterError, match="key must be"):
            dpcov.verify_signatures(release, [public(key)])

    def test_a_private_key_that_others_can_read_is_refused(self, release: Path, key: Path) -> None:
        key.chmod(0o640)
        with pytest.raises(dpcov.EngineError, match="key must be in a file that only you can read"):
            dpcov.sign(release, key)
        assert not signature_file.beside(release).exists()

    def test_the_public_half_can_be_had_again(self, key: Path, tmp_path: Path) -> None:
        assert dpcov.public_key(key, tmp_path / "again.pub") == fingerprint(ed25519.read_public_pem(public(key).read_text()))
        assert (tmp_path / "again.pub").read_bytes() == public(key).read_bytes()

    def test_keys_are_what_other_programs_read(self, key: Path) -> None:
        private = serialization.load_pem_private_key(key.read_bytes(), None)
        shared = serialization.load_pem_public_key(public(key).read_bytes())
        assert private.public_key() == shared

    @pytest.mark.parametrize("keys", [[], {}, "office.pub", None, {"": "x"}, {3: "x"}])
    def test_keys_that_are_none_are_refused(self, release: Path, keys: Any) -> None:
        with pytest.raises(dpcov.ParameterError):
            dpcov.verify_signatures(release, keys)

    def test_one_key_under_two_names_is_refused(self, release: Path, key: Path) -> None:
        with pytest.raises(dpcov.ParameterError, match="must differ"):
            dpcov.verify_signatures(release, {"a": public(key), "b": public(key)})


def written(path: Path, private: Any) -> None:
    """Write a pair of keys of any kind."""
    form = serialization
    path.write_bytes(private.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()))
    path.chmod(0o600)
    pem = private.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    path.with_name(path.name + ".pub").write_bytes(pem)


@pytest.mark.parametrize("name", [5, "n" * 201, "\ud800"])
def test_a_claim_that_is_none_is_refused(release: Path, key: Path, name: Any) -> None:
    with pytest.raises(dpcov.ParameterError, match="name must be text of at most 200"):
        dpcov.sign(release, key, name=name)


def test_what_cannot_be_loaded_is_not_signed(release: Path, key: Path) -> None:
    release.write_text(release.read_text()[:-10])
    with pytest.raises(dpcov.ReleaseError):
        dpcov.sign(release, key)
    assert not signature_file.beside(release).exists()


def test_without_signatures_there_is_an_error_and_no_verdict(release: Path, key: Path) -> None:
    with pytest.raises(dpcov.EngineError, match="signatures must be in a file that can be read"):
        dpcov.verify_signatures(release, [public(key)])


WITHOUT = """
import sys
sys.modules["cryptography"] = None
import dpcov
assert dpcov.load("trees.json").ledger is not None
for use in (lambda: dpcov.sign("trees.json", "office"), lambda: dpcov.verify_signatures("trees.json", ["office.pub"]),
            lambda: dpcov.new_signing_key("new")):
    try:
        use()
    except dpcov.EngineError as error:
        assert str(error).startswith("package cryptography must be installed for signatures, and is not. Hint: pip install ")
    else:
        raise AssertionError
"""


def test_a_signed_release_loads_without_the_package_and_the_rest_says_so(release: Path, key: Path, tmp_path: Path) -> None:
    dpcov.sign(release, key)
    subprocess.run([sys.executable, "-W", "error", "-c", WITHOUT], cwd=tmp_path, env={**os.environ}, check=True)
    assert not (tmp_path / "new").exists()


def test_a_signed_release_of_an_unknown_mechanism_loads_and_verifies(release: Path, key: Path) -> None:
    edited(release, lambda record: record["mechanism"].update(name="of-a-stranger", options={}))
    dpcov.sign(release, key)
    assert dpcov.load(release).mechanism == "of-a-stranger"
    assert is_verified(release, key)
