"""The reference of the command line, from its own parsers."""

from __future__ import annotations

import argparse

from robustness.cli import COMMANDS, make_parser


def command_line_page() -> str:
    """Return Markdown with a section for each command."""
    (commands,) = (action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction))
    return "\n\n".join(_command(name, commands.choices[name]) for name in COMMANDS)


def _command(name: str, parser: argparse.ArgumentParser) -> str:
    parts = [f"## `robustness {name}`", parser.description or "", f"```text\n{_usage(parser)}\n```"]
    for group in parser._action_groups:
        rows = [_row(action) for action in group._group_actions if action.dest != "help"]
        if rows:
            title = "" if group.title in ("options", "positional arguments") else f"*{group.title}*\n\n"
            parts.append(f"{title}| argument | meaning |\n|---|---|\n" + "\n".join(rows))
    if parser.epilog:
        parts.append(_escaped(parser.epilog))
    return "\n\n".join(part for part in parts if part)


def _usage(parser: argparse.ArgumentParser) -> str:
    return parser.format_usage().removeprefix("usage: ").strip()


def _row(action: argparse.Action) -> str:
    value = action.metavar or ("{" + ",".join(action.choices) + "}" if action.choices else action.dest.upper())
    shown = value[0] if isinstance(value, tuple) else value
    if action.option_strings:
        words = ", ".join(action.option_strings) + ("" if action.nargs == 0 else f" {shown}")
    else:
        words = str(shown)
    meaning = (action.help or "") % {"default": action.default, "prog": "robustness"}
    return f"| `{words.replace('|', chr(92) + '|')}` | {_escaped(meaning)} |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("$", "\\$")
