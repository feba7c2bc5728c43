"""Who signed a release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcov.report.text import budget_words, by, printable

if TYPE_CHECKING:
    from rich.console import Console

    from dpcov.custody.signing import Signatures, Signer


def write(out: Console, found: Signatures) -> None:
    """Print the verdict, then a line for each signer."""
    name = printable(found.path.name)
    if found.verified:
        names = " and ".join(printable(signer.trusted_name) for signer in found.signers if signer.trusted_name is not None)
        out.print(f"{name}: VERIFIED. It is as {names} signed it.", style="green", soft_wrap=True)
    else:
        out.print(f"{name}: NOT VERIFIED.", style="bold red", soft_wrap=True)
    for signer in found.signers:
        out.print(f"- {_said(signer)}", style=None if signer.good else "red", soft_wrap=True)
    for owner, fingerprint in found.missing.items():
        out.print(f"- no signature by {printable(owner)}, key {fingerprint}", style="red", soft_wrap=True)
    private = "seeded: NOT private" if found.release.seeded else budget_words(found.release.privacy)
    out.print(
        f"It promises {private} ({found.release.neighbors}); {by(f'`dpcov show {name}`', 'its `release`')} says more.",
        soft_wrap=True,
    )


def _said(signer: Signer) -> str:
    """Say what a signature shows, and what is only claimed."""
    trusted = signer.trusted_name is not None
    owner = printable(signer.trusted_name) if signer.trusted_name is not None else "an owner whom you did not name"
    claim = f", who claims to be {printable(signer.claimed_name)!r}" * bool(signer.claimed_name)
    if not signer.good:
        return (
            f"the signature by {owner}, key {signer.fingerprint}, does NOT fit: the release was edited or replaced, or it was"
        )
    return f"signed by {owner}, key {signer.fingerprint}{claim}" + ": this counts for nothing" * (not trusted)


def record(found: Signatures) -> dict[str, Any]:
    """Return it for machines."""
    signers = [
        {
            "fingerprint": signer.fingerprint,
            "trusted_name": signer.trusted_name,
            "claimed_name": signer.claimed_name,
            "good": signer.good,
        }
        for signer in found.signers
    ]
    missing = [{"trusted_name": name, "fingerprint": key} for name, key in found.missing.items()]
    return {"verified": found.verified, "signers": signers, "missing": missing}


def columns(found: Signatures) -> dict[str, Any]:
    """Return a line for each signer, and for each trusted key without a signature."""
    signed = [(one.trusted_name, one.claimed_name, one.fingerprint, one.good) for one in found.signers]
    lines = [*signed, *((name, None, key, None) for name, key in found.missing.items())]
    names = ("trusted_name", "claimed_name", "fingerprint", "good")
    return {name: [line[place] for line in lines] for place, name in enumerate(names)}
