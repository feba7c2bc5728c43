"""``dpcov sign``: keys, and signatures that stand beside a release."""

from __future__ import annotations

import sys

import click

from dpcov.cli.groups import FileByDefault
from dpcov.cli.options import Command, json_option
from dpcov.cli.telling import print_json

EXAMPLE = """\b
Example:
  dpcov sign keygen office-key
  dpcov sign file adult.json --key office-key --name "Statistics office"
  dpcov verify adult.json --key office-key.pub"""

FILE_EXAMPLE = '\b\nExample:\n  dpcov sign file adult.json --key office-key --name "Statistics office"'


@click.group(cls=FileByDefault, epilog=EXAMPLE)
def sign() -> None:
    """Sign a release, or make a key for that.

    `dpcov sign RELEASE --key KEY` is short for `dpcov sign file RELEASE --key KEY`. `dpcov verify` is the other side.
    """


def passphrase_options(command: Command) -> Command:
    """Add where a passphrase comes from: never from the command line, which others can see."""
    return click.option(
        "--passphrase-file",
        type=click.Path(),
        metavar="FILE",
        help="Its first line is the passphrase; by default it is asked for.",
    )(command)


@sign.command(epilog="\b\nExample:\n  dpcov sign keygen office-key", short_help="Make a pair of keys.")
@click.argument("key", type=click.Path())
@click.option("--no-passphrase", is_flag=True, help="Whoever copies the file can then sign as you.")
@passphrase_options
@json_option
def keygen(key: str, no_passphrase: bool, passphrase_file: str | None, as_json: bool) -> None:
    """Make a private key in the new file KEY, which only you can read, and its public one in KEY.pub, for everybody.

    The fingerprint that is printed belongs to the public key. Tell it to those who verify by a way that you both trust: by
    telephone, or on your own website.
    """
    from dpcov import new_signing_key

    if no_passphrase and passphrase_file is not None:
        raise click.UsageError("--no-passphrase cannot be used with --passphrase-file: leave one of them out")
    chosen = None if no_passphrase else _read(passphrase_file) if passphrase_file is not None else _chosen()
    made = new_signing_key(key, passphrase=chosen)
    _tell({"private": key, "public": f"{key}.pub", "fingerprint": made}, f"{key}.pub is public; fingerprint {made}", as_json)


@sign.command(epilog=FILE_EXAMPLE, short_help="Sign a release (`file` may be left out).")
@click.argument("release", type=click.Path())
@click.option("--key", type=click.Path(), required=True, metavar="FILE", help="Your private key, as `keygen` made it.")
@click.option("--name", default="", metavar="TEXT", help="What you call yourself; it is shown as your claim, not as a fact.")
@passphrase_options
@json_option
def file(release: str, key: str, name: str, passphrase_file: str | None, as_json: bool) -> None:
    """Sign a RELEASE: the signature is added to the file RELEASE.sig, and the release stays as it is.

    Everything that the file says is signed. Blanks and the order of its keys do not matter.
    """
    import dpcov

    made = dpcov.sign(release, key, name=name, passphrase=_passphrase_of(key, passphrase_file))
    facts = {"file": release, "signatures": f"{release}.sig", "fingerprint": made.fingerprint, "name": name}
    _tell(facts, f"Signed; {release}.sig has the signature of key {made.fingerprint}", as_json)


@sign.command(
    epilog="\b\nExample:\n  dpcov sign public office-key -o office-key.pub", short_help="Write the public key of a private one."
)
@click.argument("key", type=click.Path())
@click.option("-o", "--output", type=click.Path(), required=True, metavar="FILE", help="Where to write the public key.")
@passphrase_options
@json_option
def public(key: str, output: str, passphrase_file: str | None, as_json: bool) -> None:
    """Write the public key of the private KEY once more, and print its fingerprint."""
    from dpcov import public_key
    from dpcov.cli.files import checked_target

    checked_target(output, force=False, kept="it may be another key", inputs=(key,), hint="choose a new name")
    made = public_key(key, output, passphrase=_passphrase_of(key, passphrase_file))
    _tell({"public": output, "fingerprint": made}, f"{output} is public; fingerprint {made}", as_json)


def _tell(facts: dict[str, str], words: str, as_json: bool) -> None:
    if as_json:
        print_json(facts)
    else:
        click.echo(f"{words}.")


def _chosen() -> str:
    """Ask for a new passphrase, twice."""
    if not sys.stdin.isatty():
        raise click.UsageError("give --passphrase-file FILE or --no-passphrase: there is no terminal to ask on")
    return str(click.prompt("Passphrase for the new key", hide_input=True, confirmation_prompt=True, err=True))


def _passphrase_of(key: str, file: str | None) -> str | None:
    """Return the passphrase of a key, asked for only where the key is encrypted."""
    from dpcov.custody.signing import is_encrypted

    if file is not None:
        return _read(file)
    if not is_encrypted(key) or not sys.stdin.isatty():
        return None
    return str(click.prompt(f"Passphrase of {key}", hide_input=True, err=True))


def _read(file: str) -> str:
    """Return the first line of a file that only its owner can read."""
    from pathlib import Path

    from dpcov.paths import private_text

    return (private_text(Path(file), "a passphrase").splitlines() or [""])[0]
