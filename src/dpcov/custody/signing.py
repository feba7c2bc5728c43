"""Who released a file, and that nobody edited it since: signatures that stand in a file beside the release.

What is signed is everything that the release file says, the mark of its ledger and the way its estimate is finished included,
in one canonical form, so that blanks and the order of keys do not matter; and with it what the signer calls itself. Words in
front of it say what it is, so that a key that also signs other things has never signed a release unawares.

A signature says nothing about the numbers. Whoever owns the key vouches for the file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpcov.custody import ed25519, signature_file
from dpcov.custody.signature_file import LONGEST_NAME, Signature, beside
from dpcov.errors import EngineError, ParameterError, ReleaseError, shown
from dpcov.paths import checked_path, first_bytes, one_at_a_time, private_text, write_secret, write_whole
from dpcov.release.file import canonical, content, parse, text_in
from dpcov.release.record import Release
from dpcov.results import Result
from dpcov.schema import is_broken

DOMAIN = b"dpcov release signature, version 1\0"
PUBLIC_ENDING = ".pub"
LARGEST_KEY = 10_000  # bytes
LONGEST_PASSPHRASE = 1000  # bytes: OpenSSL takes 1023

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Signer:
    """Somebody who signed a release.

    Attributes
    ----------
    fingerprint : str
        SHA-256 of the public key, in hexadecimal digits: what to compare over the telephone.
    trusted_name : str or None
        What whoever verifies calls this key; None for a key that was not given.
    claimed_name : str
        What the signer calls itself: a claim, which anybody could make.
    good : bool
        Whether the owner of the key signed this very content and this very claim.
    """

    fingerprint: str
    trusted_name: str | None
    claimed_name: str
    good: bool


@dataclass(frozen=True)
class Signatures(Result):
    """What the signatures of a release are worth, to someone who trusts some keys.

    Attributes
    ----------
    path : Path
        The release file.
    release : Release
        What it holds.
    signers : tuple of Signer
        All whose signatures stand beside it, in their order.
    missing : dict of str to str
        Trusted keys that did not sign: their names, and their fingerprints.
    """

    path: Path
    release: Release
    signers: tuple[Signer, ...]
    missing: dict[str, str]

    def __repr__(self) -> str:
        return f"<Signatures of {self.path.name}: {len(self.signers)}, {'' if self.verified else 'not '}verified>"

    @property
    def verified(self) -> bool:
        """Whether every trusted key signed this very file. Signatures by other keys do not count, good or not."""
        trusted = [signer for signer in self.signers if signer.trusted_name is not None]
        return bool(trusted) and not self.missing and all(signer.good for signer in trusted)


def fingerprint(public: bytes) -> str:
    """Return the SHA-256 of a public key, in 64 hexadecimal digits."""
    return hashlib.sha256(public).hexdigest()


def new_signing_key(path: PathLike, *, passphrase: str | None = None) -> str:
    """Make a pair of keys: ``path`` is the private one, which stays with you, ``path.pub`` the public one, for everybody.

    Parameters
    ----------
    path : path
        A new file, which only you can read.
    passphrase : str, optional
        Encrypts the private key; without it whoever copies the file can sign as you.

    Returns
    -------
    str
        The fingerprint of the public key: tell it to those who verify, by a way that you both trust.

    Raises
    ------
    ParameterError
        One of the files exists; nothing is replaced.
    EngineError
        A file cannot be written, or the package ``cryptography`` is not installed.
    """
    secret = checked_path(path)
    shared = secret.with_name(secret.name + PUBLIC_ENDING)
    if shared.exists() or shared.is_symlink():
        raise ParameterError(
            f"path must be the name of a new key, got {secret.name!r}, whose {shared.name} exists. Hint: rename."
        )
    private = ed25519.new_private()
    public = ed25519.public_of(private)
    write_secret(secret, ed25519.private_pem(private, _checked_passphrase(passphrase)), name="path")
    write_whole(shared, ed25519.public_pem(public), hint="`dpcov sign public` makes it of the private key")
    return fingerprint(public)


def public_key(path: PathLike, out: PathLike, *, passphrase: str | None = None) -> str:
    """Write the public key of a private one, and return its fingerprint."""
    public = ed25519.public_of(_private(path, passphrase))
    write_whole(checked_path(out), ed25519.public_pem(public))
    return fingerprint(public)


def sign(path: PathLike, key: PathLike, *, name: str = "", passphrase: str | None = None) -> Signer:
    """Sign a release file: the signature is added to the file beside it that ends in ``.sig``; the release stays as it is.

    Parameters
    ----------
    path : path
        The release file. It is read and checked as `load` does.
    key : path
        The private key, as `new_signing_key` made it: PEM, PKCS #8.
    name : str
        What you call yourself. It is signed, too, and shown as a claim: whoever verifies has a name of their own for your key.
    passphrase : str, optional
        Of the key.

    Returns
    -------
    Signer
        As whoever knows your key will see it. Signing anew with the same key replaces your signature.

    Raises
    ------
    ReleaseError
        The release is damaged, or a signature that is there already is about another content: one of the files was replaced.
    ParameterError
        The key is none, of another kind, or encrypted with another passphrase.
    EngineError
        A file cannot be read or written, or the package ``cryptography`` is not installed.
    """
    if not isinstance(name, str) or len(name) > LONGEST_NAME or is_broken(name):
        raise ParameterError(f"name must be text of at most {LONGEST_NAME} characters, got {shown(name)}. Hint: 'Office of X'.")
    release = checked_path(path)
    said, _ = _said(release)
    private = _private(key, passphrase)
    public = ed25519.public_of(private)
    target = beside(release)
    with one_at_a_time(release, "signatures"):
        entries = signature_file.read(target) if target.exists() or target.is_symlink() else []
        if any(not _is_good(entry, said) for entry in entries):
            raise ReleaseError(
                f"signatures in {target.name} must be about this release, got one that is not. "
                f"Hint: delete {target.name}, or restore the release that it is about."
            )
        made = Signature(public.hex(), name, ed25519.signature_of(private, message_of(said, name)).hex())
        signature_file.write(target, [*(entry for entry in entries if entry.key != made.key), made])
    return Signer(fingerprint(public), None, name, True)


def verify_signatures(
    path: PathLike, keys: Mapping[str, PathLike] | Sequence[PathLike], *, signatures: PathLike | None = None
) -> Signatures:
    """Tell whether each of these keys signed a release file as it is now.

    Parameters
    ----------
    path : path
        The release file. It is read and checked as `load` does.
    keys : dict of names to paths, or list of paths
        The public keys that you trust, and what you call their owners; in a list each is called as its file. **Get them from
        their owners, not from whoever gave you the release.** All of them must have signed.
    signatures : path, optional
        The file of signatures; by default the one beside the release that ends in ``.sig``.

    Returns
    -------
    Signatures
        Its ``verified`` is the verdict, ``signers`` says who signed.

    Raises
    ------
    ReleaseError
        The release or the file of signatures is damaged.
    ParameterError
        A key is none, or of another kind.
    EngineError
        A file cannot be read, or the package ``cryptography`` is not installed.
    """
    trusted = _trusted(keys)
    release = checked_path(path)
    said, made = _said(release)
    entries = signature_file.read(beside(release) if signatures is None else checked_path(signatures))
    signers = tuple(
        Signer(fingerprint(public), trusted.get(public), entry.name, _is_good(entry, said))
        for entry in entries
        for public in [bytes.fromhex(entry.key)]
    )
    signed = {signer.fingerprint for signer in signers}
    missing = {name: fingerprint(public) for public, name in trusted.items() if fingerprint(public) not in signed}
    return Signatures(release, made, signers, missing)


def message_of(said: Mapping[str, object], name: str) -> bytes:
    """Return the bytes that are signed, of all that a release file says, and of what the signer calls itself."""
    return DOMAIN + canonical({"name": name, "release": said})


def _said(release: Path) -> tuple[dict[str, object], Release]:
    """Return all that a release file says, as it stands there, and the release: what cannot be loaded is not vouched for."""
    text = text_in(release)
    return content(text), parse(text)


def _is_good(entry: Signature, said: Mapping[str, object]) -> bool:
    return ed25519.is_signature(bytes.fromhex(entry.key), bytes.fromhex(entry.signature), message_of(said, entry.name))


def is_encrypted(key: PathLike) -> bool:
    """Whether a private key cannot be used without its passphrase."""
    return "BEGIN ENCRYPTED PRIVATE KEY" in _text_of_private(key)


def _text_of_private(key: PathLike) -> str:
    file = checked_path(key)
    if file.name.endswith(PUBLIC_ENDING):
        raise ParameterError(
            f"key must be the private one, got {file.name!r}. Hint: it has the same name without {PUBLIC_ENDING}."
        )
    return private_text(file, "key")


def _checked_passphrase(passphrase: object) -> str | None:
    if passphrase is None:
        return None
    if not isinstance(passphrase, str) or is_broken(passphrase) or not 1 <= len(passphrase.encode()) <= LONGEST_PASSPHRASE:
        rule = f"passphrase must be text of 1 to {LONGEST_PASSPHRASE} bytes"
        raise ParameterError(f"{rule}, got another one. Hint: leave it out for a key without one.")
    return passphrase


def _private(path: PathLike, passphrase: str | None) -> bytes:
    given = _checked_passphrase(passphrase)
    return ed25519.read_private_pem(_text_of_private(path), given)


def _trusted(keys: Mapping[str, PathLike] | Sequence[PathLike]) -> dict[bytes, str]:
    """Return the names of keys, by the keys."""
    if isinstance(keys, Mapping):
        named = list(keys.items())
    elif isinstance(keys, Sequence) and not isinstance(keys, str | bytes):
        named = [(checked_path(path).name.removesuffix(PUBLIC_ENDING), path) for path in keys]
    else:
        raise ParameterError(
            f"keys must be a list of public key files, or a dict of names to them, got {shown(keys)}. Hint: [KEY]."
        )
    if not named:
        raise ParameterError(
            "keys must hold at least one public key, got none. Hint: ask whoever released the file for theirs."
        )
    found: dict[bytes, str] = {}
    for name, path in named:
        if not isinstance(name, str) or not name:
            raise ParameterError(f"a name of a key must be text, got {shown(name)}. Hint: whose key it is, as you know them.")
        public = ed25519.read_public_pem(_text_of_key(checked_path(path)))
        if public in found or name in found.values():
            raise ParameterError(
                f"keys and their names must differ, got {shown(name)} twice or under two names. Hint: leave one out."
            )
        found[public] = name
    return found


def _text_of_key(path: Path) -> str:
    try:
        return first_bytes(path, LARGEST_KEY).decode("ascii", "replace")
    except OSError as error:
        raise EngineError(
            f"key must be in a file that can be read, got {str(path)!r} ({error.strerror}). Hint: check the path."
        ) from None
