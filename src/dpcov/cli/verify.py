"""``dpcov verify``: who signed a release, and whether it was edited since."""

from __future__ import annotations

from pathlib import Path

import click

from dpcov.cli.options import json_option
from dpcov.cli.telling import tell

EXAMPLE = """\b
Example:
  dpcov verify adult.json --key office-key.pub
  dpcov verify adult.json --key "Statistics office=keys/office.pub" --key auditor.pub"""


@click.command(epilog=EXAMPLE, short_help="Check who signed a release, and that nothing was edited.")
@click.argument("release", type=click.Path())
@click.option(
    "--key",
    "keys",
    multiple=True,
    required=True,
    metavar="[NAME=]FILE",
    help="A public key that you trust, and what you call its owner; can be repeated: all must have signed.",
)
@click.option("--signatures", type=click.Path(), metavar="FILE", help="The signatures; by default RELEASE.sig.")
@json_option
@click.pass_context
def verify(context: click.Context, release: str, keys: tuple[str, ...], signatures: str | None, as_json: bool) -> None:
    """Check that a RELEASE is as the owner of each --key signed it. The exit code is 0 only then, and 3 where one did not.

    Get public keys from their owners, not from whoever gave you the release: a file can be signed by anybody, under any name.
    """
    from dpcov import verify_signatures

    found = verify_signatures(release, _named(keys), signatures=signatures)
    tell(found, release, as_json=as_json)
    if not found.verified:
        context.exit(3)


def _named(keys: tuple[str, ...]) -> dict[str, str]:
    """Return the files of keys by their owners' names: from NAME=FILE, or from the file's own name."""
    named: dict[str, str] = {}
    for text in keys:
        name, sign, file = ("", "", text) if Path(text).exists() else text.partition("=")
        owner, path = (name, file) if sign else (Path(text).name.removesuffix(".pub"), text)
        if owner in named:
            raise click.UsageError(f"--key must have a name of its own, got {owner!r} twice: write NAME=FILE")
        named[owner] = path
    return named
