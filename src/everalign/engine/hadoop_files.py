"""Files of any storage that Apache Spark can read, copied to where all workers can open them.

Python workers have no access to Hadoop's file systems, Java has. What is copied is read like any
other file: in all formats, with the same errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xxhash import xxh3_128

from everalign.errors import InputError

# Files that are copied at the same time.
COPIES = 8
# What Hadoop and Spark write beside their results, such as _SUCCESS.
HIDDEN = ("_", ".")


class HadoopFiles:
    """Copies files.

    Args:
        session: The session of Spark; its options are those of its file systems.
        directory: Where to, one that all workers have.
    """

    def __init__(self, session: Any, directory: Path) -> None:
        self._directory = directory
        self._java = session._jvm.org.apache.hadoop.fs
        self._options = session._jsc.hadoopConfiguration()

    def fetch_files(self, url: str) -> list[Path]:
        """Copy what a URL names, unless it was copied already.

        Args:
            url: The URL of a file, of a directory (without its subdirectories and hidden files),
                or of a pattern.

        Returns:
            The copies in the order of their names.

        Raises:
            InputError: There is no such file, or it cannot be read.
        """
        with _convert_java_errors(url):
            path = self._java.Path(url)
            system = path.getFileSystem(self._options)
            found = sorted(self._list_files(system, path), key=lambda file: str(file.getPath()))
        if not found:
            raise InputError("does not exist", path=url)
        with _convert_java_errors(url), ThreadPoolExecutor(COPIES) as pool:
            return list(pool.map(lambda file: self._copy_file(system, file), found))

    def _list_files(self, system: Any, path: Any) -> Iterator[Any]:
        # A file may have the characters of a pattern in its name.
        entries = [system.getFileStatus(path)] if system.exists(path) else system.globStatus(path)
        for entry in entries or ():
            if entry.isFile():
                yield entry
                continue
            for file in system.listStatus(entry.getPath()):
                if file.isFile() and not file.getPath().getName().startswith(HIDDEN):
                    yield file

    def _copy_file(self, system: Any, file: Any) -> Path:
        path = file.getPath()
        # A file that has changed is another one.
        key = f"{path} {file.getLen()} {file.getModificationTime()}"
        copy = self._directory / xxh3_128(key.encode()).hexdigest() / str(path.getName())
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            part = copy.with_name(f"{copy.name}.part")
            part.unlink(missing_ok=True)
            # Without the files of checksums that Hadoop writes beside local files.
            local = self._java.FileSystem.getLocal(self._options).getRaw()
            target = self._java.Path(str(part))
            self._java.FileUtil.copy(system, path, local, target, False, self._options)
            # A file that is there is whole.
            part.replace(copy)
        return copy


@contextmanager
def _convert_java_errors(url: str) -> Iterator[None]:
    from py4j.protocol import Py4JJavaError

    try:
        yield
    except Py4JJavaError as error:
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        lines = str(cause.toString()).strip().splitlines()
        reason = re.sub(r"^[\w.$]+: ", "", lines[0])
        raise InputError(f"Spark cannot read it ({reason})", path=url) from None
