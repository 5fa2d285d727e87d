"""Spark does what threads do, also where its workers or this process are killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from tests.methods.evidence.samples import found, sampled

from everalign import Aligner, ChangeSet, ConfigError, EngineError, use_engine
from everalign._parallel import fill_chunks, map_chunks
from everalign._progress import no_progress
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from everalign.engine.shared_files import load_work
from everalign.engine.spark import SparkEngine
from everalign.io import Triple
from everalign.methods.evidence import neighbourhood, support
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.method import Evidence

pytestmark = pytest.mark.slow

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


def test_chunks_come_back_in_order(engine: SparkEngine) -> None:
    table = np.arange(5000, dtype=np.int64)

    def add_up(first: int, end: int) -> int:
        return int(table[first:end].sum())

    def square(first: int, end: int) -> np.ndarray:
        return table[first:end] ** 2

    squares = np.empty_like(table)
    with use_engine(engine):
        sums = map_chunks(add_up, len(table), 700)
        fill_chunks(square, squares, 600)
    assert sums == map_chunks(add_up, len(table), 700)
    assert (squares == table**2).all()


def write_graph(path: Path, triples: list[Triple], labels: Iterable[tuple[str, str]]) -> Path:
    """Write a graph as N-Triples, with labels."""
    lines = [
        f"<http://x/{head}> <http://x/{name}> <http://x/{tail}> ." for head, name, tail in triples
    ]
    lines += [f'<http://x/{entity}> <{LABEL}> "{label}" .' for entity, label in labels]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks that graphs of a few hundred entities have several of."""
    monkeypatch.setattr(support, "MIN_CHUNK_SIZE", 64)
    monkeypatch.setattr(neighbourhood, "NEIGHBOUR_CHUNK_SIZE", 512)


def test_structure_gives_the_same_links_bit_by_bit(
    engine: SparkEngine, small_chunks: None
) -> None:
    sample = sampled(SampleConfig(triples=3000, snapshots=2, seed=1))

    def run() -> list[bytes]:
        method = Evidence(EvidenceParameters(), seed=0)
        columns = []
        for number, problem in enumerate(sample.problems):
            (method.update if number else method.fit)(problem, no_progress)
            links = found(method, problem)
            columns += [column.tobytes() for column in (links.left, links.right, links.score)]
        return columns

    expected, before = run(), len(engine.list_steps())
    with use_engine(engine):
        assert run() == expected
    assert len(engine.list_steps()) > before


def test_literals_give_the_same_links_bit_by_bit(
    engine: SparkEngine, tmp_path: Path, small_chunks: None
) -> None:
    sample = generate_sample(SampleConfig(triples=3000, snapshots=1, seed=2))
    left = write_graph(tmp_path / "left.nt", sample.left(0), sample.left_labels())
    right = write_graph(tmp_path / "right.nt", sample.right(0), sample.right_labels())
    expected = list_links(Aligner.create(tmp_path / "threads", left, right))
    before = len(engine.list_steps())
    with use_engine(engine):
        aligner = Aligner.create(tmp_path / "spark", left, right)
    assert list_links(aligner) == expected
    assert len(engine.list_steps()) > before


def test_what_a_broken_off_attempt_has_left_is_not_mixed_in(engine: SparkEngine) -> None:
    def count(first: int, end: int) -> int:
        return end - first

    with use_engine(engine):
        before = set(engine.list_steps())
        assert map_chunks(count, 1700, 300) == [300] * 5 + [200]
        (name,) = set(engine.list_steps()) - before
        step = engine.get_step_directory(name)
        # As if it had had more tasks, and had been broken off before its end.
        shutil.copy(next(step.glob("task-*")), step / "task-00000000-00000009.arrow")
        (step / "_SUCCESS").unlink()
        assert map_chunks(count, 1700, 300) == [300] * 5 + [200]


def test_a_worker_that_is_killed_is_replaced(engine: SparkEngine, tmp_path: Path) -> None:
    flag = str(tmp_path / "killed")

    def die_once(first: int, end: int) -> int:
        if first == 600:
            try:
                os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return end - first

    with use_engine(engine):
        assert map_chunks(die_once, 1500, 300) == [300] * 5
    assert Path(flag).exists()


def test_an_error_of_the_work_is_told_in_one_line(engine: SparkEngine) -> None:
    def fail(first: int, end: int) -> int:
        raise ValueError(f"no chunk from {first} to {end}")

    with use_engine(engine), pytest.raises(EngineError, match=r"has failed: .*no chunk from"):
        map_chunks(fail, 1500, 300)


def test_a_worker_without_the_files_is_told(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="all workers share under the same path"):
        load_work(str(tmp_path / "nothing.pickle"))


DRIVER = """
import sys
from pathlib import Path
from everalign import Aligner, SparkEngine, use_engine
from everalign.benchmark.synthetic import SampleConfig, generate_sample

sample = generate_sample(SampleConfig(triples=60_000, snapshots=1, seed=1))
directory = Path(sys.argv[1])
with SparkEngine(directory / "run", sys.argv[2], min_items=500) as engine, use_engine(engine):
    Aligner.create(
        directory / "state", sample.left(0), sample.right(0), sample.seeds, sample.validation_links
    )
"""


def start_driver(directory: Path, master: str = "local[2]") -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(directory), master], start_new_session=True
    )


def list_steps(directory: Path) -> dict[str, float]:
    done = (directory / "run" / "steps").glob("*/_SUCCESS")
    return {path.parent.name: path.stat().st_mtime for path in done}


def wait_for_steps(directory: Path, count: int) -> None:
    until = time.monotonic() + 300
    while len(list_steps(directory)) < count:
        assert time.monotonic() < until, "no step was done"
        time.sleep(0.1)


def create_locally(directory: Path) -> Aligner:
    sample = generate_sample(SampleConfig(triples=60_000, snapshots=1, seed=1))
    return Aligner.create(
        directory, sample.left(0), sample.right(0), sample.seeds, sample.validation_links
    )


def list_links(aligner: Aligner) -> list[tuple[str, str, float]]:
    return [(link.left, link.right, link.score) for link in aligner.links()]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_run_goes_on_after_its_process_was_killed(spark_installed: None, tmp_path: Path) -> None:
    driver = start_driver(tmp_path)
    try:
        wait_for_steps(tmp_path, 3)
    finally:
        driver.kill()
        driver.wait()
    steps = list_steps(tmp_path)
    driver = start_driver(tmp_path)
    again: dict[str, float] = {}
    while driver.poll() is None:
        again |= list_steps(tmp_path)
        time.sleep(0.1)
    assert driver.returncode == 0
    assert steps.items() <= again.items(), "a step that was done was done again"
    assert not (tmp_path / "run").exists()
    assert list_links(Aligner.open(tmp_path / "state")) == list_links(
        create_locally(tmp_path / "local")
    )


def start_class(name: str, *arguments: str) -> subprocess.Popen[bytes]:
    import pyspark

    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [str(program), f"org.apache.spark.deploy.{name}", *arguments]
    return subprocess.Popen(
        command, env=environment, stderr=subprocess.DEVNULL, start_new_session=True
    )


def find_executors() -> list[int]:
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "pid,args"], check=True, capture_output=True, text=True
    )
    return [
        int(line.split()[0])
        for line in listed.stdout.splitlines()
        if "CoarseGrainedExecutorBackend" in line
    ]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_cluster_goes_on_without_an_executor(
    spark_installed: None, tmp_path: Path, free_port: int
) -> None:
    address = f"spark://127.0.0.1:{free_port}"
    port = str(free_port)
    parts = [
        start_class("master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", "0")
    ]
    try:
        time.sleep(8)
        for number in range(2):
            work = tmp_path / f"worker-{number}"
            options = ["--cores", "1", "--memory", "1g", "--work-dir", str(work)]
            parts.append(start_class("worker.Worker", *options, "--webui-port", "0", address))
        driver = start_driver(tmp_path, address)
        parts.append(driver)
        wait_for_steps(tmp_path, 2)
        executors = find_executors()
        assert len(executors) == 2
        os.kill(executors[0], signal.SIGKILL)
        assert driver.wait(timeout=600) == 0
    finally:
        for part in parts:
            with suppress(ProcessLookupError):
                os.killpg(part.pid, signal.SIGKILL)
            part.wait()
    assert list_links(Aligner.open(tmp_path / "state")) == list_links(
        create_locally(tmp_path / "local")
    )


def test_a_small_update_does_not_need_spark(engine: SparkEngine, tmp_path: Path) -> None:
    aligner = create_locally(tmp_path / "state")
    before = set(engine.list_steps())
    change = ChangeSet(added_left=[("new", "relation", "newer")])
    with use_engine(engine):
        aligner.update(change=change)
    assert set(engine.list_steps()) == before


def test_java_that_is_missing_or_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match=r"needs Java 17 or newer, and .* does not run"):
        SparkEngine(tmp_path / "run")
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    program.chmod(0o755)
    with pytest.raises(ConfigError, match="is version 11"):
        SparkEngine(tmp_path / "run")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="there is no `java`"):
        SparkEngine(tmp_path / "run")


def test_a_master_that_is_not_there(spark_installed: None, tmp_path: Path, free_port: int) -> None:
    with pytest.raises(EngineError, match=r"does not answer: .*refused"):
        SparkEngine(tmp_path / "run", f"spark://127.0.0.1:{free_port}")
    with pytest.raises(ConfigError, match="'sparkle' is no master of Spark"):
        SparkEngine(tmp_path / "run", "sparkle")
