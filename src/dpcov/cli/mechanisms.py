"""``dpcov mechanisms``: what there is to choose from."""

from __future__ import annotations

import click

from dpcov.cli.options import json_option
from dpcov.cli.telling import print_json


@click.command(epilog="\b\nExample:\n  dpcov mechanisms")
@json_option
def mechanisms(as_json: bool) -> None:
    """List the mechanisms, the budgets they serve and their options."""
    from dpcov.report.mechanisms import record, write
    from dpcov.report.text import console

    if as_json:
        print_json(record())
    else:
        write(console())
