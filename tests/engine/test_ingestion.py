"""Sources that Spark reads give the same graph, bit by bit, as when this process reads them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from everalign import Aligner, EngineError, InputError, use_engine
from everalign._parallel import map_chunks, split_by_cost
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from everalign.engine.spark import SparkEngine
from everalign.graph import Vocabulary, encode_statements
from everalign.io import Source, TripleReader

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("storage")


@pytest.fixture(scope="module")
def engine(
    spark_installed: None, tmp_path_factory: pytest.TempPathFactory, storage: Path
) -> Iterator[SparkEngine]:
    """Spark that cuts small files as well, and has a storage of its own."""
    # Hadoop's way to give directories other names; a stand-in for hdfs:// and s3a://.
    mount = {"spark.hadoop.fs.viewfs.mounttable.data.link./in": storage.as_uri()}
    path = tmp_path_factory.mktemp("engine")
    with SparkEngine(path / "run", "local[2]", mount, 500, 20_000) as engine:
        yield engine


def write_lines(path: Path, first: int = 0, count: int = 3000) -> Path:
    lines = [
        f"<http://x/{n % 701}> <http://x/r{n % 7}> <http://x/{n * 31 % 907}> .\n"
        if n % 5
        else f'<http://x/{n % 701}> <http://x/name> "Name {n % 97}" .\n'
        for n in range(first, first + count)
    ]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def read_graph(source: Source) -> tuple[list[list[str]], bytes, bytes]:
    vocabulary = Vocabulary()
    encoded = encode_statements(TripleReader(source), vocabulary)
    names = [list(index) for index in vocabulary.list_indexes()]
    return names, encoded.triples.tobytes(), encoded.literals.tobytes()


def test_workers_encode_slices(engine: SparkEngine, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "left.nt", count=100_000)
    expected, before = read_graph(path), len(engine.list_steps())
    with use_engine(engine):
        assert read_graph(path) == expected
    assert len(engine.list_steps()) == before + 1


def test_urls_of_storages(engine: SparkEngine, storage: Path) -> None:
    for number in range(3):
        write_lines(storage / f"part-{number}.nt", 100 * number, 400)
    (storage / "_SUCCESS").touch()
    expected = read_graph(f"{storage}/*.nt")
    with use_engine(engine):
        for url in ("viewfs://data/in", "viewfs://data/in/part-*.nt"):
            reader = TripleReader(url)
            assert len(list(reader.statements())) == 3
            assert reader.notes == [f"{url}: read from 3 files"]
            assert sorted(read_graph(url)[0][0]) == sorted(expected[0][0])
        with pytest.raises(InputError, match=r"viewfs://data/in/no\.nt: does not exist"):
            read_graph("viewfs://data/in/no.nt")
        with pytest.raises(InputError, match=r"nothing://x/y: Spark cannot read it \(No FileSys"):
            read_graph("nothing://x/y")
    with pytest.raises(InputError, match=r"only Apache Spark reads this storage"):
        read_graph("hdfs://host/left.nt")


def test_links_are_the_same(engine: SparkEngine, tmp_path: Path) -> None:
    sample = generate_sample(SampleConfig(triples=3000, snapshots=1, seed=2))
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    paths = []
    for name, triples, labels in (
        ("left.nt", sample.left(0), sample.left_labels()),
        ("right.nt", sample.right(0), sample.right_labels()),
    ):
        lines = [f"<http://x/{h}> <http://x/{r}> <http://x/{t}> .\n" for h, r, t in triples]
        lines += [f'<http://x/{entity}> <{label}> "{text}" .\n' for entity, text in labels]
        (tmp_path / name).write_text("".join(lines), encoding="utf-8")
        paths.append(tmp_path / name)
    expected = Aligner.create(tmp_path / "threads", paths[0], paths[1])
    with use_engine(engine):
        aligner = Aligner.create(tmp_path / "spark", paths[0], paths[1])
    assert list(aligner.links()) == list(expected.links())


DRIVER = """
import sys
from pathlib import Path
from everalign import SparkEngine, use_engine
from everalign.graph import Vocabulary, encode_statements
from everalign.io import TripleReader

directory = Path(sys.argv[1])
with SparkEngine(directory / "run", "local[2]", slice_bytes=20_000) as engine, use_engine(engine):
    encoded = encode_statements(TripleReader(directory / "left.nt"), Vocabulary())
    print(len(encoded.triples), flush=True)
    input()
"""


def start_driver(directory: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )


def test_a_killed_driver_does_not_encode_again(spark_installed: None, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "left.nt")
    expected = len(encode_statements(path, Vocabulary()).triples)
    driver = start_driver(tmp_path)
    assert driver.stdout is not None
    assert driver.stdin is not None
    try:
        assert int(driver.stdout.readline()) == expected
    finally:
        driver.kill()
        driver.wait()
        driver.stdin.close()
        driver.stdout.close()
    results = list((tmp_path / "run" / "steps").glob("*/*.arrow"))
    written = {file: file.stat().st_mtime_ns for file in results}
    assert written
    # One task as if it had not been done: it alone is done again.
    lost = results[0]
    lost.unlink()
    (lost.parent / "_SUCCESS").unlink()
    driver = start_driver(tmp_path)
    try:
        assert int(driver.stdout.readline()) == expected  # type: ignore[union-attr]
        again = {file: file.stat().st_mtime_ns for file in written}
    finally:
        driver.communicate(b"\n", timeout=120)
    assert [file for file in written if again[file] != written[file]] == [lost]
    assert driver.returncode == 0
    assert not (tmp_path / "run").exists()


def test_workers_with_another_version(
    engine: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("everalign.engine.spark.version", lambda _: "0.0.1")
    with use_engine(engine), pytest.raises(EngineError, match=r"this process 0\.0\.1: install"):
        map_chunks(lambda first, end: end - first, 5000, 500)


def test_tasks_have_equal_costs() -> None:
    costs = np.random.default_rng(0).pareto(1.1, 5000) * 100 + 1
    ends = split_by_cost(costs.astype(int).tolist(), 16)
    assert ends[0] == 0
    assert ends[-1] == 5000
    assert ends == sorted(set(ends))
    sums = np.add.reduceat(costs.astype(int), ends[:-1])
    # No task can be split below its largest chunk.
    assert sums.max() <= costs.sum() / 16 + 1.01 * costs.max()


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    # A limit on the size of files does what a full disk does.
    code = """
import resource, sys
from pathlib import Path
import numpy as np
from everalign.engine.shared_files import SharedFiles
files = SharedFiles(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
files.store_array(np.zeros(100_000))
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    shown = subprocess.run(command, check=False, capture_output=True, text=True)
    assert "EngineError" in shown.stderr
    assert "cannot be written (File too large)" in shown.stderr
    assert not list(tmp_path.iterdir())
