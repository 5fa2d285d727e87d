"""A file appears whole or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from everalign.rdf import whole_file


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "links"
    path.write_text("old")

    def fail() -> None:
        with whole_file(path) as stream:
            stream.write(b"half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    with whole_file(tmp_path / "alias") as stream:
        stream.write(b"new")
    assert (tmp_path / "alias").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[bytes] = []
    listener = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    listener.start()
    with whole_file(pipe) as stream:
        stream.write(b"links")
    listener.join(10)
    assert heard == [b"links"]
    assert pipe.is_fifo()


def test_a_long_name_is_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250)
    with whole_file(path) as stream:
        stream.write(b"links")
    assert path.read_bytes() == b"links"


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "nowhere" / "links"):
        pass


def test_what_cannot_be_written_is_named_as_it_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "links.tsv"
    with pytest.raises(FileNotFoundError) as caught, whole_file(path):
        pass
    assert caught.value.filename == str(path)
