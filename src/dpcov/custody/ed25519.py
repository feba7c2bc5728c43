"""Ed25519 (RFC 8032), by the package ``cryptography``: the only file that imports it.

Keys are their 32 bytes, signatures 64. On disk keys are PEM as other programs have it: PKCS #8, and SubjectPublicKeyInfo.
"""

from __future__ import annotations

from typing import Any

from dpcov.errors import EngineError, ParameterError

KEY_BYTES, SIGNATURE_BYTES = 32, 64
MAKE = "`dpcov sign keygen` makes one"


def new_private() -> bytes:
    """Return a new private key, of the operating system's randomness."""
    key = _keys().Ed25519PrivateKey.generate()
    return bytes(key.private_bytes_raw())


def public_of(private: bytes) -> bytes:
    """Return the public key of a private one."""
    return bytes(_keys().Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw())


def signature_of(private: bytes, message: bytes) -> bytes:
    """Return the signature of a message: the same one each time."""
    return bytes(_keys().Ed25519PrivateKey.from_private_bytes(private).sign(message))


def is_signature(public: bytes, signature: bytes, message: bytes) -> bool:
    """Whether the owner of a key signed this very message."""
    key = _keys().Ed25519PublicKey.from_public_bytes(public)
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(signature, message)
    except InvalidSignature:  # and nothing else: an error of another kind is no verdict
        return False
    return True


def private_pem(private: bytes, passphrase: str | None) -> bytes:
    """Return a private key as PEM, encrypted where there is a passphrase."""
    keys, form = _keys(), _form()
    cipher = form.NoEncryption() if passphrase is None else form.BestAvailableEncryption(passphrase.encode())
    key = keys.Ed25519PrivateKey.from_private_bytes(private)
    return bytes(key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, cipher))


def public_pem(public: bytes) -> bytes:
    """Return a public key as PEM."""
    form = _form()
    key = _keys().Ed25519PublicKey.from_public_bytes(public)
    return bytes(key.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo))


def read_private_pem(text: str, passphrase: str | None) -> bytes:
    """Return a private key from PEM, or refuse what is none, or cannot be opened."""
    form, kind = _form(), _keys().Ed25519PrivateKey
    from cryptography.exceptions import UnsupportedAlgorithm

    if "PRIVATE KEY-----" not in text:
        got = "a public key" if "PUBLIC KEY-----" in text else "another file"
        raise ParameterError(f"key must be a private Ed25519 key in PEM, got {got}. Hint: {MAKE}.")
    encrypted = "BEGIN ENCRYPTED PRIVATE KEY" in text
    if encrypted and passphrase is None:
        raise ParameterError("passphrase must be given for an encrypted key, got none. Hint: it was chosen with the key.")
    if not encrypted and passphrase is not None:
        raise ParameterError("passphrase must be left out for a key without one, got one. Hint: is it the right key?")
    try:
        key: Any = form.load_pem_private_key(text.encode(), None if passphrase is None else passphrase.encode())
    except (ValueError, TypeError, UnsupportedAlgorithm):
        if encrypted:
            raise ParameterError("passphrase must be that of the key, got another one. Hint: or the file is damaged.") from None
        raise ParameterError(
            "key must be a whole key in PKCS #8, got a damaged one, or another form. Hint: use a copy of it."
        ) from None
    if not isinstance(key, kind):
        raise ParameterError(f"key must be an Ed25519 key, got one of another kind. Hint: {MAKE}.")
    return bytes(key.private_bytes_raw())


def read_public_pem(text: str) -> bytes:
    """Return a public key from PEM, or refuse what is none."""
    form, kind = _form(), _keys().Ed25519PublicKey
    from cryptography.exceptions import UnsupportedAlgorithm

    if "BEGIN PUBLIC KEY" not in text:
        got = "a private one, which stays with whoever signs" if "PRIVATE KEY-----" in text else "another file"
        raise ParameterError(f"key must be a public Ed25519 key in PEM, got {got}. Hint: give the file that ends in .pub.")
    try:
        key: Any = form.load_pem_public_key(text.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise ParameterError("key must be a whole file, got a damaged one. Hint: ask for it again.") from None
    if not isinstance(key, kind):
        raise ParameterError(f"key must be an Ed25519 key, got one of another kind. Hint: {MAKE}.")
    return bytes(key.public_bytes_raw())


def _keys() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise EngineError(
            "package cryptography must be installed for signatures, and is not. Hint: pip install 'dpcov[sign]'."
        ) from None
    return ed25519


def _form() -> Any:
    _keys()
    from cryptography.hazmat.primitives import serialization

    return serialization
