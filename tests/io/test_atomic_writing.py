"""Files written atomically."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from everalign.io import write_atomically


def test_an_error_keeps_the_existing_file(tmp_path: Path) -> None:
    path = tmp_path / "links"
    path.write_text("old")

    def fail() -> None:
        with write_atomically(path) as stream:
            stream.write(b"half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_symbolic_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    with write_atomically(tmp_path / "alias") as stream:
        stream.write(b"new")
    assert (tmp_path / "alias").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[bytes] = []
    listener = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    listener.start()
    with write_atomically(pipe) as stream:
        stream.write(b"links")
    listener.join(10)
    assert heard == [b"links"]
    assert pipe.is_fifo()


def test_a_long_file_name_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250)
    with write_atomically(path) as stream:
        stream.write(b"links")
    assert path.read_bytes() == b"links"


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), write_atomically(tmp_path / "nowhere" / "links"):
        pass


def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "links.tsv"
    with pytest.raises(FileNotFoundError) as caught, write_atomically(path):
        pass
    assert caught.value.filename == str(path)
