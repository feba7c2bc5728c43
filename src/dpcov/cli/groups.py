"""Groups of commands: the nearest name for one that is misspelt, and a command that need not be named."""

from __future__ import annotations

from difflib import get_close_matches

import click


class DidYouMean(click.Group):
    """A group that offers the nearest of its commands for one that it does not have."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, or refuse its name with a suggestion."""
        name = args[0] if args else ""
        near = get_close_matches(name, self.list_commands(ctx), n=1)
        if self.get_command(ctx, name) is None and near and not name.startswith("-"):
            raise click.UsageError(f"No such command {name!r}. Did you mean {near[0]!r}?", ctx)
        return super().resolve_command(ctx, args)


class TableByDefault(DidYouMean):
    """A group whose options, where no command comes before them, are those of its command ``table``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the command in front of its options."""
        own = {name for option in self.get_params(ctx) for name in option.opts}
        if args and args[0].startswith("-") and args[0] not in own:
            args = ["table", *args]
        return super().parse_args(ctx, args)


class FileByDefault(DidYouMean):
    """A group whose arguments, where no command comes first, are those of its command ``file``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the command in front of what is no command."""
        own = {name for option in self.get_params(ctx) for name in option.opts}
        if args and args[0] not in own and self.get_command(ctx, args[0]) is None:
            args = ["file", *args]
        return super().parse_args(ctx, args)


def nearest_option(error: click.ClickException) -> str:
    """Return the message of an error; for an unknown option it offers the nearest one, not all that are somewhat near."""
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        begun = [option for option in error.possibilities if option.startswith(error.option_name)]  # --eps is --epsilon
        near = begun or get_close_matches(error.option_name, error.possibilities, n=1, cutoff=0)
        return f"No such option {error.option_name!r}. Did you mean {near[0]!r}?"
    return error.format_message()
