"""Planted bugs in signatures."""

from __future__ import annotations

from tests.mutation.form import mutant

ED25519 = "custody/ed25519.py"
FILE = "custody/signature_file.py"
PATHS = "paths.py"
SIGNING = "custody/signing.py"

TEST = "tests/custody/test_signatures.py::"
LIBRARY, EDITS, SIGNED, KEYS, VERIFYING = (
    TEST + f"Test{name}::" for name in ("TheLibrary", "Edits", "WhatIsSigned", "Keys", "Verifying")
)

PLANTED = {
    "a signature that is written over another's": mutant(
        ("paths.py", "fcntl.LOCK_EX | fcntl.LOCK_NB", "fcntl.LOCK_SH | fcntl.LOCK_NB"),
        by="tests/custody/test_signatures.py::TestSeveralAtOnce::test_one_that_never_ends_is_named",
    ),
    "a wrong signature is a good one": mutant(
        (ED25519, "        return False\n", "        return True\n"),
        by=(LIBRARY + "test_it_is_ed25519_as_printed", EDITS + "test_swapped_signatures_do_not_verify"),
    ),
    "what cannot be checked counts as good": mutant(
        (ED25519, "        key.verify(", "        _keys().Ed25519PublicKey.from_public_bytes(public).verify("),
        (ED25519, "    key = _keys().Ed25519PublicKey.from_public_bytes(public)\n    from cry", "    from cry"),
        (ED25519, "        return False\n", "        return False\n    except Exception:\n        return True\n"),
        by=LIBRARY + "test_an_error_is_no_verdict",
    ),
    "the ledger's mark is not signed": mutant(
        (SIGNING, '"release": said})', '"release": {name: part for name, part in said.items() if name != "ledger"}})'),
        by=(SIGNED + "test_every_part_is_in_the_message", EDITS + "test_an_edit_shows_although_the_file_loads"),
    ),
    "how the estimate is finished is not signed": mutant(
        (SIGNING, '"release": said})', '"release": {**said, "postprocess": ""}})'),
        by=EDITS + "test_an_edit_shows_although_the_file_loads",
    ),
    "only the beginning is signed": mutant(
        (SIGNING, 'canonical({"name": name, "release": said})', 'canonical({"name": name, "release": said})[:1000]'),
        by=EDITS + "test_an_edit_shows_although_the_file_loads",
    ),
    "what the signer claims is not signed": mutant(
        (SIGNING, 'canonical({"name": name, ', 'canonical({"name": "", '),
        by=EDITS + "test_what_a_signer_claims_cannot_be_edited",
    ),
    "nothing says what is signed": mutant(
        (SIGNING, "return DOMAIN + canonical", "return canonical"),
        by=EDITS + "test_a_signature_of_the_same_bytes_without_the_words_in_front_does_not_verify",
    ),
    "a fingerprint that is cut": mutant(
        (SIGNING, "hashlib.sha256(public).hexdigest()", "hashlib.sha256(public).hexdigest()[:16]"),
        by=VERIFYING + "test_a_name_is_the_verifiers_own_and_a_claim_is_called_one",
    ),
    "one good signature is enough": mutant(
        (SIGNING, "return bool(trusted) and not self.missing and all(", "return any("),
        by=VERIFYING + "test_all_trusted_keys_must_have_signed",
    ),
    "a stranger's signature counts": mutant(
        (SIGNING, "[signer for signer in self.signers if signer.trusted_name is not None]", "list(self.signers)"),
        (SIGNING, "bool(trusted) and not self.missing and", "bool(trusted) and"),
        by=VERIFYING + "test_another_key_does_not_verify",
    ),
    "the name that a signer claims is shown as a fact": mutant(
        (SIGNING, "trusted.get(public), entry.name,", "trusted.get(public) and entry.name, entry.name,"),
        by=VERIFYING + "test_a_name_is_the_verifiers_own_and_a_claim_is_called_one",
    ),
    "a private key that others can read": mutant(
        (PATHS, 'getattr(os, "O_NOFOLLOW", 0), 0o600)', 'getattr(os, "O_NOFOLLOW", 0), 0o644)'),
        by=KEYS + "test_a_private_key_is_its_owners_alone",
    ),
    "a private key is replaced": mutant(
        (PATHS, "os.O_CREAT | os.O_EXCL | getattr", "os.O_CREAT | os.O_TRUNC | getattr"),
        by=KEYS + "test_neither_file_is_replaced_nor_a_link_followed",
    ),
    "a key of another kind": mutant(
        (ED25519, "form, kind = _form(), _keys().Ed25519PrivateKey", "form, kind = _form(), object"),
        by=KEYS + "test_a_key_of_another_kind_is_refused",
    ),
    "two signatures by one key": mutant(
        (FILE, "if len({entry.key for entry in entries}) < len(entries):", "if False:"),
        by=TEST + "test_a_file_of_signatures_that_none_wrote_is_refused",
    ),
    "a file of signatures may name an algorithm": mutant(
        (
            FILE,
            'for name in ("key", "name", "signature")))\n    fields.end()\n',
            'for name in ("key", "name", "signature")))\n',
        ),
        by=TEST + "test_a_file_of_signatures_that_none_wrote_is_refused",
    ),
}
