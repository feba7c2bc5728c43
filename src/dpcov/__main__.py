"""``python -m dpcov``: the command line, where `dpcov` itself is not on the path."""

from dpcov.cli import main

main()
