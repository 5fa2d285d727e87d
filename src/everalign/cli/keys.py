"""Keys pressed in a terminal, read one by one; what is typed ahead is not lost."""

from __future__ import annotations

import codecs
import os
import sys
from types import TracebackType
from typing import Any, Self

import click


class KeyReader:
    """Reads keys while the block runs; the terminal shows none of them.

    The terminal is in this mode all the time and not for one key only, as `click.getchar` has it:
    a change of mode would drop the keys that were pressed meanwhile.
    """

    def __init__(self) -> None:
        self._before: list[Any] | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def __enter__(self) -> Self:
        if sys.platform != "win32":
            import termios
            import tty

            self._before = termios.tcgetattr(sys.stdin.fileno())
            # Interrupts still work; input that waits is kept.
            tty.setcbreak(sys.stdin.fileno(), termios.TCSANOW)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if sys.platform != "win32" and self._before is not None:
            import termios

            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._before)

    def read_key(self) -> str:
        """Read a key.

        Returns:
            The character; that of the end of input if there is no more.
        """
        if sys.platform == "win32":
            return click.getchar()
        # By single bytes, so that nothing is taken from the keys that follow.
        while data := os.read(sys.stdin.fileno(), 1):
            if character := self._decoder.decode(data):
                return character
        return "\x04"

    def read_line(self, prompt: str) -> str:
        """Read a line, which is shown as it is typed.

        Args:
            prompt: What to print before it.

        Returns:
            The line.
        """
        click.echo(prompt, nl=False)
        line = ""
        while (key := self.read_key()) not in ("\r", "\n", "\x04"):
            if key in ("\x7f", "\b"):
                click.echo("\b \b" if line else "", nl=False)
                line = line[:-1]
            else:
                click.echo(key, nl=False)
                line += key
        click.echo()
        return line.strip()
