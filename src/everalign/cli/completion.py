"""Completion of commands, options, state directories and versions by the shell."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

PROGRAM = "everalign"
COMPLETE_VARIABLE = "_EVERALIGN_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
DETECT = "detect"
# By this file, a directory is known to be a state directory without opening it.
STATE_FILE = "everalign.sqlite"


def complete_state(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """List the state directories that a path may mean.

    Args:
        _context: Not used.
        _parameter: Not used.
        incomplete: The beginning of a path.

    Returns:
        State directories; if there are none, the shell completes directories.
    """
    folder, slash, start = incomplete.rpartition("/")
    try:
        entries = sorted(Path(folder or ("/" if slash else ".")).iterdir())
        found = [entry.name for entry in entries if (entry / STATE_FILE).is_file()]
    except OSError:
        found = []
    items = [CompletionItem(f"{folder}{slash}{name}") for name in found if name.startswith(start)]
    return items or [CompletionItem(incomplete, type="dir")]


def complete_version(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """List the versions of the state directory on the command line.

    Args:
        context: The context, with the state directory if it was given.
        _parameter: Not used.
        incomplete: The beginning of a number.

    Returns:
        The versions with the sources of their changes; none if the alignment cannot be read.
    """
    from everalign.aligner import Aligner
    from everalign.errors import EverAlignError

    # An option without its value keeps click from parsing what stands before it.
    given = [context.params.get("state"), *context.args]
    states = [path for path in given if path and (Path(path) / STATE_FILE).is_file()]
    try:
        reports = Aligner.open(states[0]).status().reports if states else ()
    except (EverAlignError, OSError):
        return []
    return [
        CompletionItem(str(report.version), help=report.source)
        for report in reports
        if str(report.version).startswith(incomplete)
    ]


def add_completion_option(command: click.Command) -> None:
    """Add the option --install-completion to a command.

    Args:
        command: The command of the program.
    """
    command.params.append(
        click.Option(
            ["--install-completion"],
            is_flag=False,
            flag_value=DETECT,
            is_eager=True,
            expose_value=False,
            type=click.Choice([*SHELLS, DETECT]),
            metavar="[SHELL]",
            callback=_install,
            help="Install completion for bash, zsh or fish; for the shell in use by default.",
        )
    )


def _install(context: click.Context, _: click.Parameter, shell: str | None) -> None:
    if shell is None or context.resilient_parsing:
        return
    if shell == DETECT:
        shell = Path(os.environ.get("SHELL", "")).name
        if shell not in SHELLS:
            raise click.UsageError(f"name the shell: --install-completion {' or '.join(SHELLS)}")
    completion = get_completion_class(shell)
    assert completion is not None, "click knows these shells"
    script = completion(context.command, {}, PROGRAM, COMPLETE_VARIABLE).source()
    path = _find_script_path(shell)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script, encoding="utf-8")
    click.echo(f"Wrote {path}. It takes effect in a new shell.")
    for line in _HINTS[shell](path):
        click.echo(line)
    context.exit()


def _find_script_path(shell: str) -> Path:
    """Where the shell looks for completions of a user."""
    if shell == "bash":
        base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
        return Path(base) / "bash-completion" / "completions" / PROGRAM
    if shell == "fish":
        base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
        return Path(base) / "fish" / "completions" / f"{PROGRAM}.fish"
    return Path.home() / ".zfunc" / f"_{PROGRAM}"


# What a user has to do where the shell does not look by itself.
_HINTS: dict[str, Callable[[Path], Sequence[str]]] = {
    "bash": lambda path: [f"Without the package bash-completion, add to ~/.bashrc: . {path}"],
    "zsh": lambda path: [
        "If it is not there yet, add to ~/.zshrc:",
        f"  fpath+={path.parent}; autoload -Uz compinit && compinit",
    ],
    "fish": lambda _: [],
}
