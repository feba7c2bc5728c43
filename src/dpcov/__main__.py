"""``python -m dpcov`` and ``dpcov``: the command line, which can be interrupted from its first moment on."""


def main() -> None:
    """Run a command; an interrupt while it is still being imported ends it as any later one does."""
    try:
        from dpcov.cli import main as run
    except KeyboardInterrupt:
        import sys

        print("dpcov: interrupted; nothing was done", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
