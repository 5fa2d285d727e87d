"""Settings of a server, and who may use it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from enum import IntEnum
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path

from everalign.errors import ConfigError

DEFAULT_PORT = 8710
# Shorter ones could be guessed; 32 bytes are what `secrets` recommends, 16 are safe for years.
MIN_TOKEN_LENGTH = 16
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
# To listen on all addresses of the machine.
ANY_HOST = ("0.0.0.0", "::")
Network = IPv4Network | IPv6Network


class Role(IntEnum):
    """What somebody may do; each role includes those before it."""

    READER = 0
    REVIEWER = 1
    CURATOR = 2


@dataclass(frozen=True)
class Token:
    """A secret that opens the service.

    Args:
        secret: What a client has to show.
        role: What its holder may do.
        author: Who its holder is; empty if decisions say so themselves.
    """

    secret: str
    role: Role = Role.CURATOR
    author: str = ""


@dataclass(frozen=True)
class ServiceSettings:
    """How to serve an alignment.

    Args:
        state: The state directory.
        host: The address to listen on.
        port: The port to listen on; 0 for any that is free.
        read_only: Whether everybody is a reader.
        tokens: Who may use the service.
        has_random_token: Whether the tokens were made for this run.
        allowed_hosts: Names by which clients may address the server, besides the address.
        trusted_proxies: Networks of proxies that are believed who the user is.
        user_header: The header in which such a proxy names the user.
        curators: Users of a proxy who may start updates; all others are reviewers.
        data: The directory of files that updates may read; None if they may read none.
        rate_limit: Requests a second for each token; 0 for no limit.
        languages: Preferred languages of labels, the best first.
        capability: The secret part of the path of the reconciliation service.

    Raises:
        ConfigError: The server would be open to others without a token, or a value is wrong.
    """

    state: Path
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    read_only: bool = False
    tokens: tuple[Token, ...] = ()
    has_random_token: bool = field(init=False, default=False)
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[Network, ...] = ()
    user_header: str = "X-Forwarded-User"
    curators: tuple[str, ...] = ()
    data: Path | None = None
    # A person needs a few each second, a page that loads some dozen at once.
    rate_limit: float = 200.0
    languages: tuple[str, ...] = ()
    capability: str = field(default_factory=lambda: secrets.token_urlsafe(16))

    def __post_init__(self) -> None:
        if not self.tokens:
            if not self.is_local:
                raise ConfigError(
                    f"to listen on {self.host}, give a token: others can reach this address"
                )
            random = Token(secrets.token_urlsafe(32))
            object.__setattr__(self, "tokens", (random,))
            object.__setattr__(self, "has_random_token", True)
        if self.data is not None and not self.data.is_dir():
            raise ConfigError(f"{self.data}, the directory of --data, does not exist")
        for token in self.tokens:
            if len(token.secret) < MIN_TOKEN_LENGTH or not token.secret.isascii():
                raise ConfigError(
                    f"a token needs at least {MIN_TOKEN_LENGTH} letters, digits or signs of ASCII"
                )

    @property
    def is_local(self) -> bool:
        """Whether only processes of this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def own_names(self) -> frozenset[str]:
        """Names that clients may address the server by at its own port, as `Host` has them.

        A server that listens on all addresses also answers on those of this machine.
        """
        host = self.host.strip("[]").lower()
        own = {f"[{host}]" if ":" in host else host}
        return frozenset(own.union(LOOPBACK_NAMES if self.is_local or host in ANY_HOST else ()))

    def trusts_proxy(self, address: str) -> bool:
        """Tell whether a peer is believed who the user is.

        Args:
            address: The address of the peer of a connection.

        Returns:
            Whether it is one of the trusted proxies.
        """
        try:
            peer = ip_address(address)
        except ValueError:
            return False
        return any(peer in network for network in self.trusted_proxies)


def parse_networks(values: tuple[str, ...]) -> tuple[Network, ...]:
    """Parse addresses of proxies.

    Args:
        values: Addresses such as "10.0.0.7" or networks such as "10.0.0.0/8".

    Returns:
        The networks.

    Raises:
        ConfigError: One is neither.
    """
    try:
        return tuple(ip_network(value) for value in values)
    except ValueError as error:
        raise ConfigError(f"a trusted proxy must be an address or a network: {error}") from error


def read_tokens(path: Path) -> tuple[Token, ...]:
    """Read tokens from a file: role, token and name, separated by spaces, one a line.

    Args:
        path: The file; empty lines and lines that begin with # do not count.

    Returns:
        The tokens.

    Raises:
        ConfigError: A line is not as expected, or a token is there twice.
    """
    tokens = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not a text file in UTF-8") from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        role, secret, author = (*line.split(maxsplit=2), "", "")[:3]
        if role.upper() not in Role.__members__ or not secret:
            raise ConfigError(
                f"{path}:{number}: expected reader, reviewer or curator, and a token"
            )
        tokens.append(Token(secret, Role[role.upper()], author))
    if len({token.secret for token in tokens}) < len(tokens):
        raise ConfigError(f"{path}: a token is there twice")
    return tuple(tokens)
