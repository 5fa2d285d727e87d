"""Record what a program does to the files below a directory, at the level of system calls.

The calls are those that `strace` shows, with the bytes of every write, so what SQLite writes is
recorded as well. Calls that are not modelled and would change a file end the recording with an
error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from disk_model import (
    MAPPED_SUFFIX,
    ROOT,
    Acknowledge,
    NameChange,
    Operation,
    Resize,
    Sync,
    Write,
    list_creation,
)

CALLS = (
    "open,openat,creat,close,dup,dup2,dup3,fcntl,read,lseek,write,pwrite64,ftruncate,truncate,"
    "fsync,fdatasync,rename,renameat,renameat2,mkdir,mkdirat,rmdir,unlink,unlinkat,mmap"
)
# Would change a file, and are used by nobody here.
REFUSED_CALLS = (
    "writev,pwritev,pwritev2,fallocate,copy_file_range,sendfile,splice,link,linkat,symlink,"
    "symlinkat"
)
_LINE = re.compile(r"^\d+ +(\w+)\((.*)\) += (-?\w+)")
_UNFINISHED, _RESUMED = " <unfinished ...>", re.compile(r"^\d+ +<\.\.\. \w+ resumed>(.*)$")


def can_trace() -> bool:
    """Tell whether programs can be traced on this machine.

    Returns:
        Whether there is an `strace` that is allowed to trace.
    """
    if shutil.which("strace") is None:
        return False
    command = ["strace", "-f", "-o", os.devnull, "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def record_program(
    command: Sequence[str], directory: Path, acknowledged: Path
) -> tuple[list[Operation], int]:
    """Run a program and record what it does below a directory.

    Args:
        command: The program and its arguments.
        directory: The directory; what is in it is on the disk already.
        acknowledged: A file outside of it: what is written there is acknowledged to somebody.

    Returns:
        Operations, and how many of them only make what was there before.

    Raises:
        RuntimeError: The program failed.
    """
    before = list_creation(directory)
    with TemporaryDirectory() as name:
        trace = Path(name, "trace")
        options = ["-f", "-z", "-xx", "-s", str(1 << 28), "-e", "signal=none", "-e", "raw=read"]
        calls = f"trace={CALLS},{REFUSED_CALLS}"
        result = subprocess.run(
            ["strace", *options, "-e", calls, "--seccomp-bpf", "-o", trace, *command],
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            raise RuntimeError(f"the recorded program failed: {result.stderr}")
        reader = _TraceReader(directory, acknowledged, before)
        with trace.open(encoding="ascii") as lines:
            for call, arguments, returned in _parse_lines(lines):
                reader.follow_call(call, arguments, returned)
    return reader.operations, len(before)


def _parse_lines(lines: Iterable[str]) -> Iterator[tuple[str, list[str], int]]:
    """Names, arguments and results of system calls; a call of one thread may interrupt another."""
    unfinished = dict[str, str]()
    for raw in lines:
        line, thread = raw.rstrip("\n"), raw.split(" ", 1)[0]
        if line.endswith(_UNFINISHED):
            unfinished[thread] = line.removesuffix(_UNFINISHED)
            continue
        if resumed := _RESUMED.match(line):
            line = unfinished.pop(thread) + resumed[1]
        if match := _LINE.match(line):
            yield match[1], match[2].split(", "), int(match[3], 0)


@dataclass
class _OpenFile:
    """What a file descriptor stands for; None for the file of acknowledgements."""

    node: int | None
    appends: bool
    position: int = 0


class _TraceReader:
    """Turns system calls into operations."""

    def __init__(self, root: Path, acknowledged: Path, before: Sequence[Operation]) -> None:
        self.operations = list(before)
        self._root, self._acknowledged = root, acknowledged
        self._open = dict[int, _OpenFile]()
        self._names = dict[tuple[int, str], int]()
        self._sizes = dict[int, int]()
        self._files = dict[int, str]()
        for op in before:
            if isinstance(op, NameChange):
                ((directory, name, node),) = op.entries
                assert node is not None
                self._names[directory, name] = node
                self._files[node] = name
            elif isinstance(op, Write):
                self._sizes[op.node] = len(op.data)
        self._next_node = 1 + max([ROOT, *self._names.values()])

    def follow_call(self, call: str, arguments: list[str], returned: int) -> None:
        """Follow a system call that was successful."""
        follow: Callable[[list[str], int], None] | None = getattr(self, f"_follow_{call}", None)
        if follow is not None:
            follow(arguments, returned)
        elif call in REFUSED_CALLS.split(","):
            numbers = {int(argument) for argument in arguments if argument.isdecimal()}
            paths = [self._resolve(argument) for argument in arguments if argument[0] == '"']
            if numbers & self._open.keys() or any(map(self._find_place, paths)):
                raise NotImplementedError(f"{call} is not modelled: {arguments}")

    def _follow_openat(self, arguments: list[str], returned: int) -> None:
        path = self._resolve(arguments[1], arguments[0])
        flags = set(arguments[2].split("|"))
        # A descriptor that was closed by the system, as by exec, is used again.
        self._open.pop(returned, None)
        if path == self._acknowledged:
            self._open[returned] = _OpenFile(None, appends=True)
            return
        place = self._find_place(path)
        if place is None:
            return
        node = ROOT if path == self._root else self._names.get(place)
        if node is None:
            # Before its name: what has no size is a directory.
            self._change_size(self._next_node, 0)
            node = self._add_node(place)
        elif "O_TRUNC" in flags:
            self._change_size(node, 0)
        self._open[returned] = _OpenFile(node, "O_APPEND" in flags)

    def _follow_open(self, arguments: list[str], returned: int) -> None:
        self._follow_openat(["AT_FDCWD", *arguments], returned)

    def _follow_creat(self, arguments: list[str], returned: int) -> None:
        self._follow_openat(["AT_FDCWD", arguments[0], "O_CREAT|O_TRUNC"], returned)

    def _follow_close(self, arguments: list[str], _returned: int) -> None:
        self._open.pop(int(arguments[0]), None)

    def _follow_dup(self, arguments: list[str], returned: int) -> None:
        if file := self._open.get(int(arguments[0])):
            self._open[returned] = file
        else:
            self._open.pop(returned, None)

    _follow_dup2 = _follow_dup3 = _follow_dup

    def _follow_fcntl(self, arguments: list[str], returned: int) -> None:
        if arguments[1].startswith("F_DUPFD"):
            self._follow_dup(arguments, returned)

    def _follow_read(self, arguments: list[str], returned: int) -> None:
        # Raw arguments: what is read need not be recorded.
        if file := self._open.get(int(arguments[0], 16)):
            file.position += returned

    def _follow_lseek(self, arguments: list[str], returned: int) -> None:
        if file := self._open.get(int(arguments[0])):
            file.position = returned

    def _follow_write(self, arguments: list[str], returned: int) -> None:
        if file := self._open.get(int(arguments[0])):
            data = _decode(arguments[1])[:returned]
            if file.node is None:
                self.operations.append(Acknowledge(data.decode().strip()))
                return
            offset = self._sizes[file.node] if file.appends else file.position
            file.position = offset + returned
            self._write(file.node, offset, data)

    def _follow_pwrite64(self, arguments: list[str], returned: int) -> None:
        file = self._open.get(int(arguments[0]))
        if file and file.node is not None:
            self._write(file.node, int(arguments[3]), _decode(arguments[1])[:returned])

    def _follow_ftruncate(self, arguments: list[str], _returned: int) -> None:
        file = self._open.get(int(arguments[0]))
        if file and file.node is not None:
            self._change_size(file.node, int(arguments[1]))

    def _follow_truncate(self, arguments: list[str], _returned: int) -> None:
        place = self._find_place(self._resolve(arguments[0]))
        if place is not None:
            self._change_size(self._names[place], int(arguments[1]))

    def _follow_fsync(self, arguments: list[str], _returned: int) -> None:
        file = self._open.get(int(arguments[0]))
        if file and file.node is not None:
            self.operations.append(Sync(file.node))

    _follow_fdatasync = _follow_fsync

    def _follow_mmap(self, arguments: list[str], _returned: int) -> None:
        file = self._open.get(int(arguments[4]))
        is_written = "PROT_WRITE" in arguments[2] and "MAP_SHARED" in arguments[3]
        if file and file.node is not None and is_written:
            name = self._files.get(file.node, "")
            if not name.endswith(MAPPED_SUFFIX):
                raise NotImplementedError(f"writes through a map are not modelled: {name}")

    def _follow_mkdirat(self, arguments: list[str], _returned: int) -> None:
        place = self._find_place(self._resolve(arguments[1], arguments[0]))
        if place is not None:
            self._add_node(place)

    def _follow_mkdir(self, arguments: list[str], returned: int) -> None:
        self._follow_mkdirat(["AT_FDCWD", *arguments], returned)

    def _follow_unlinkat(self, arguments: list[str], _returned: int) -> None:
        place = self._find_place(self._resolve(arguments[1], arguments[0]))
        if place is not None:
            self._change_names((*place, None))

    def _follow_unlink(self, arguments: list[str], returned: int) -> None:
        self._follow_unlinkat(["AT_FDCWD", *arguments], returned)

    _follow_rmdir = _follow_unlink

    def _follow_renameat(self, arguments: list[str], _returned: int) -> None:
        source = self._find_place(self._resolve(arguments[1], arguments[0]))
        target = self._find_place(self._resolve(arguments[3], arguments[2]))
        if source is None and target is None:
            return
        if source is None or target is None:
            raise NotImplementedError("files that leave the directory are not modelled")
        self._change_names((*source, None), (*target, self._names[source]))

    _follow_renameat2 = _follow_renameat

    def _follow_rename(self, arguments: list[str], returned: int) -> None:
        self._follow_renameat(["AT_FDCWD", arguments[0], "AT_FDCWD", arguments[1]], returned)

    def _resolve(self, argument: str, base: str = "AT_FDCWD") -> Path:
        path = Path(os.fsdecode(_decode(argument)))
        if base == "AT_FDCWD" or path.is_absolute():
            return Path.cwd() / path
        file = self._open.get(int(base))
        return Path(os.devnull) if file is None else self._find_path(file.node) / path

    def _find_path(self, node: int | None) -> Path:
        if node == ROOT:
            return self._root
        directory, name = next(place for place, found in self._names.items() if found == node)
        return self._find_path(directory) / name

    def _find_place(self, path: Path) -> tuple[int, str] | None:
        """The directory and the name of a path; None outside of what is recorded."""
        if path == self._root:
            return ROOT, ""
        if not path.is_relative_to(self._root):
            return None
        *directories, name = path.relative_to(self._root).parts
        node = ROOT
        for directory in directories:
            node = self._names[node, directory]
        return node, name

    def _add_node(self, place: tuple[int, str]) -> int:
        node, self._next_node = self._next_node, self._next_node + 1
        self._change_names((*place, node))
        return node

    def _change_names(self, *entries: tuple[int, str, int | None]) -> None:
        self.operations.append(NameChange(entries))
        for directory, name, node in entries:
            if node is None:
                del self._names[directory, name]
            else:
                self._names[directory, name] = node
                self._files[node] = name

    def _change_size(self, node: int, size: int) -> None:
        self._sizes[node] = size
        self.operations.append(Resize(node, size))

    def _write(self, node: int, offset: int, data: bytes) -> None:
        self._sizes[node] = max(self._sizes[node], offset + len(data))
        self.operations.append(Write(node, offset, data))


def _decode(argument: str) -> bytes:
    return bytes.fromhex(argument.strip('"').replace("\\x", ""))
