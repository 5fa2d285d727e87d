"""A light HTTP client for measurements: many connections in one thread, and nothing else.

A client of a library costs more processor time for a request than the server that is measured,
which shares the machine with it.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Ask:
    """A request.

    Attributes:
        path: Path and query.
        body: What to POST as JSON; None to GET.
        headers: Additional headers.
    """

    path: str
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Reply:
    """An answer: its status, its body, and the seconds until all of it was there."""

    status: int
    headers: dict[str, str]
    body: bytes
    seconds: float


class Connection:
    """A connection that is kept alive.

    Args:
        port: The port on this machine.
        token: The token to send.
    """

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._writer.close()

    async def send(self, ask: Ask) -> Reply:
        """Send a request and read the answer.

        Args:
            ask: The request.

        Returns:
            The answer.
        """
        method, data = "GET", b""
        head = self._head + "".join(f"{name}: {value}\r\n" for name, value in ask.headers)
        if ask.body is not None:
            method, data = "POST", json.dumps(ask.body).encode()
            head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
        began = perf_counter()
        self._writer.write(f"{method} {ask.path} HTTP/1.1\r\n{head}\r\n".encode() + data)
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        length = int(headers.get("content-length", "0"))
        body = await self._reader.readexactly(length)
        return Reply(int(lines[0].split()[1]), headers, body, perf_counter() - began)


def run_clients(
    port: int, token: str, asks: Sequence[Ask], clients: int, pause_seconds: float = 0.0
) -> list[Reply]:
    """Let clients ask at the same time, each one request after the other.

    Args:
        port: The port on this machine.
        token: The token of all clients.
        asks: The requests of all clients together.
        clients: How many clients there are.
        pause_seconds: How long a client pauses before each request, on average (the pauses are
            distributed exponentially); 0 for not at all.

    Returns:
        The answers in the order of the requests.
    """
    replies: dict[int, Reply] = {}

    async def run_client(number: int) -> None:
        rng = random.Random(number)
        async with Connection(port, token) as connection:
            for place in range(number, len(asks), clients):
                if pause_seconds:
                    await asyncio.sleep(rng.expovariate(1 / pause_seconds))
                replies[place] = await connection.send(asks[place])

    async def run_all() -> None:
        await asyncio.gather(*map(run_client, range(clients)))

    asyncio.run(run_all())
    return [replies[place] for place in range(len(asks))]
