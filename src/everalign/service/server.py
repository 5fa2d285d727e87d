"""Running a server: the port, the addresses to open, and the end."""

from __future__ import annotations

import gc
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Thread
from urllib.parse import quote

import uvicorn

from everalign._platform import limit_arenas
from everalign.errors import ConfigError
from everalign.service.app import create_app
from everalign.service.identity import Identities
from everalign.service.settings import ANY_HOST, ServiceSettings, Token

# Enough for a department; more at once would only wait.
MAX_CONNECTIONS = 300
KEEP_ALIVE_SECONDS = 75
SHUTDOWN_SECONDS = 3
# After how many seconds a thread that computes lets others go on. Python's own 5 milliseconds are
# as long as a whole answer, and a request changes threads several times.
SWITCH_SECONDS = 0.001
# Heaps for the memory of all threads: more would keep memory that nobody uses.
MAX_ARENAS = 2


@dataclass(frozen=True)
class Invitation:
    """An address that signs in once.

    Args:
        url: The address.
        token: Whose it is.
    """

    url: str
    token: Token


@dataclass(frozen=True)
class RunningServer:
    """What a server tells when it begins to listen.

    Args:
        settings: Its settings, with the port that it got.
        url: Its address.
        invitations: An address for each token.
        reconciliation: The address of the reconciliation service.
        stop: Ends the server; another thread may call it.
    """

    settings: ServiceSettings
    url: str
    invitations: tuple[Invitation, ...]
    reconciliation: str
    stop: Callable[[], None]


class _Server(uvicorn.Server):
    """A server that ends its streams before it waits for its requests to end.

    Args:
        config: How to serve.
        end_streams: Ends the streams; called in the event loop.
    """

    def __init__(self, config: uvicorn.Config, end_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._end_streams = end_streams

    def stop(self) -> None:
        """Let the server end."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close all connections.

        Args:
            sockets: The sockets that the server listens on.
        """
        self._end_streams()
        await super().shutdown(sockets)


def run_server(
    settings: ServiceSettings,
    announce: Callable[[RunningServer], None],
    *,
    log_level: str = "warning",
) -> None:
    """Serve an alignment until the process is interrupted.

    Args:
        settings: What to serve, where and to whom.
        announce: Called when the server listens.
        log_level: What to log: "warning", "info" or "debug".

    Raises:
        ConfigError: The port is taken, or the address is not one of this machine.
        StateError: There is no alignment.
    """
    listener = _open_socket(settings)
    sys.setswitchinterval(SWITCH_SECONDS)
    limit_arenas(MAX_ARENAS)
    try:
        settings = replace_port(settings, listener.getsockname()[1])
        identities = Identities(settings)
        app = create_app(settings, identities, _resume_collection)
        config = uvicorn.Config(
            app,
            log_level=log_level,
            access_log=log_level == "debug",
            server_header=False,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            # Who the user is, and by which way they came, is asked of trusted proxies alone.
            proxy_headers=False,
            ws="none",
            http="h11",
            h11_max_incomplete_event_size=64_000,
        )
        server = _Server(config, app.state.events.stop)
        # The socket accepts already: who opens the address at once waits a moment.
        running = _describe(settings, identities, server.stop)
        Thread(target=announce, args=(running,), daemon=True).start()
        server.run(sockets=[listener])
    finally:
        listener.close()


def _resume_collection() -> None:
    """Let the collector look for garbage again, but not among what stays as long as the server."""
    gc.collect()
    gc.freeze()
    gc.enable()


def replace_port(settings: ServiceSettings, port: int) -> ServiceSettings:
    """Give settings the port that the server got.

    Args:
        settings: The settings.
        port: The port.

    Returns:
        The settings with the same tokens.
    """
    changed = replace(settings, port=port)
    object.__setattr__(changed, "has_random_token", settings.has_random_token)
    return changed


def _open_socket(settings: ServiceSettings) -> socket.socket:
    host = settings.host.strip("[]")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, settings.port, type=socket.SOCK_STREAM
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen(128)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        problem = f"cannot listen on {host} port {settings.port}: {error.strerror}"
        raise ConfigError(f"{problem}; --port chooses another one") from error
    return listener


def _describe(
    settings: ServiceSettings, identities: Identities, stop: Callable[[], None]
) -> RunningServer:
    host = "localhost" if settings.host in ANY_HOST else settings.host
    name = f"[{host}]" if ":" in host and not host.startswith("[") else host
    url = f"http://{name}:{settings.port}"
    invitations = tuple(
        Invitation(f"{url}/?token={quote(code)}", token)
        for code, token in identities.login_codes.items()
    )
    reconciliation = f"{url}/reconcile/{settings.capability}/right"
    return RunningServer(settings, url, invitations, reconciliation, stop)
