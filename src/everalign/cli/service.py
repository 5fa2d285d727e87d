"""The command that serves an alignment to browsers and programs."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from everalign.cli.inputs import (
    DIRECTORY,
    FILE,
    choose_languages,
    format_examples,
    languages_option,
    state_argument,
)
from everalign.cli.logs import is_verbose
from everalign.errors import ConfigError

if TYPE_CHECKING:
    from everalign.service.server import RunningServer
    from everalign.service.settings import ServiceSettings


@click.command(
    epilog=format_examples(
        "everalign serve my.state",
        "everalign serve my.state --port 9000 --read-only --no-open",
        "everalign serve my.state --host 0.0.0.0 --tokens tokens.txt --allow-host links.org",
    )
)
@state_argument
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8710,
    show_default=True,
    help="Port to listen on; 0 for any that is free.",
)
@click.option("--read-only", is_flag=True, help="Nobody can decide or update.")
@click.option(
    "--token",
    envvar="EVERALIGN_TOKEN",
    show_envvar=True,
    metavar="TOKEN",
    show_default="random",
    help="Token of a curator, who may decide and update. Needed to listen on an address that "
    "others can reach.",
)
@click.option(
    "--tokens",
    "token_file",
    type=FILE,
    help="Read tokens from FILE: reader, reviewer or curator; token; name of the person.",
)
@click.option(
    "--trusted-proxy",
    "trusted_proxies",
    multiple=True,
    metavar="ADDRESS",
    help="Believe a proxy at this address or network who the user is. May be repeated.",
)
@click.option(
    "--user-header",
    default="X-Forwarded-User",
    show_default=True,
    metavar="NAME",
    help="Header in which the proxy names the user.",
)
@click.option(
    "--curator",
    "curators",
    multiple=True,
    metavar="USER",
    help="A user of the proxy who may update; others may decide. May be repeated.",
)
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="Another name by which clients address this server. May be repeated.",
)
@click.option("--data", type=DIRECTORY, help="Updates may read files of this directory.")
@click.option(
    "--rate-limit",
    type=click.FloatRange(min=0),
    default=200.0,
    show_default=True,
    metavar="N",
    help="Requests a second for each token; 0 for no limit.",
)
@languages_option
@click.option(
    "--open/--no-open",
    "open_browser",
    default=None,
    show_default="on a terminal",
    help="Open the page in a browser.",
)
def serve(open_browser: bool | None, **options: Any) -> None:
    """Serve an alignment: a page to review links, and a JSON API.

    It is a reconciliation service for OpenRefine, too. Prints an address that signs a browser in
    once. Updates, also those of other processes, show at once. Requires the extra: pip install
    'everalign[service]'.
    """
    with _pause_collection():
        check_installed()
        serve_alignment(build_settings(**options), open_browser)


def build_settings(
    state: Path,
    token: str | None,
    token_file: Path | None,
    trusted_proxies: tuple[str, ...],
    allowed_hosts: tuple[str, ...],
    languages: tuple[str, ...],
    **options: Any,
) -> ServiceSettings:
    """Build settings from the options of `serve`.

    Args:
        state: The state directory.
        token: The token of a curator.
        token_file: A file with more tokens.
        trusted_proxies: Addresses and networks of proxies.
        allowed_hosts: More names of the server.
        languages: Preferred languages of labels.
        options: Settings that are taken as they are.

    Returns:
        The settings.

    Raises:
        ConfigError: A value is wrong.
    """
    from everalign.service.settings import (
        ServiceSettings,
        Token,
        parse_networks,
        read_tokens,
    )

    tokens = (Token(token),) if token else ()
    return ServiceSettings(
        state=state,
        tokens=tokens + (read_tokens(token_file) if token_file else ()),
        allowed_hosts=tuple(name.lower() for name in allowed_hosts),
        trusted_proxies=parse_networks(trusted_proxies),
        languages=choose_languages(state, languages),
        **options,
    )


@contextmanager
def _pause_collection() -> Iterator[None]:
    """Look for no garbage while modules and data are loaded; the server begins again.

    Hardly anything is garbage until then, and to look for it takes a tenth of the time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def check_installed() -> None:
    """Check that the packages of the extra `service` are there.

    Raises:
        ConfigError: They are not.
    """
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            f"{error.name} is not installed: run pip install 'everalign[service]'"
        ) from error


def serve_alignment(settings: ServiceSettings, open_browser: bool | None) -> None:
    """Serve an alignment until the process is interrupted.

    Args:
        settings: What to serve, where and to whom.
        open_browser: Whether to open the page in a browser; None for on a terminal.
    """
    from everalign.service.server import run_server

    wanted = sys.stdout.isatty() if open_browser is None else open_browser

    def announce(server: RunningServer) -> None:
        _print_addresses(server)
        if wanted:
            # Prints nothing and opens nothing where there is no browser.
            click.launch(server.invitations[0].url)

    run_server(settings, announce, log_level="info" if is_verbose() else "warning")


def _print_addresses(server: RunningServer) -> None:
    click.echo(f"Serving {server.settings.state} at {server.url} (Ctrl+C ends it).")
    for invitation in server.invitations:
        token = invitation.token
        who = token.role.name.lower() + (f" {token.author}" if token.author else "")
        click.echo(f"Open once, as {who}: {invitation.url}")
    if server.settings.has_random_token:
        click.echo(f"Token for programs: {server.settings.tokens[0].secret}")
    click.echo(f"Reconciliation (OpenRefine): {server.reconciliation}")
