"""Compile the kernels and write their archive (internal).

python -m everalign._kernel_build

The argument types of the kernels are not declared anywhere: small alignments are run, in which
everything happens that usually happens, and what numba compiles on the way is kept. A call with
other types still works; it is compiled where it happens.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from numba.core.dispatcher import Dispatcher

from everalign import _numba
from everalign._kernel_archive import (
    ARCHIVE_PATH,
    get_target,
    hash_kernel,
    list_cpu_features,
    open_archive,
    write_archive,
)
from everalign.aligner import Aligner
from everalign.benchmark.synthetic import (
    Sample,
    SampleConfig,
    TripleFormat,
    generate_sample,
    write_sample,
)
from everalign.cardinality import Cardinality
from everalign.changeset import ChangeSet, StateBefore, encode_change_set
from everalign.config import Config
from everalign.graph import Vocabulary
from everalign.graph.iri_names import quote_literal
from everalign.io import Triple
from everalign.state import StateStore

RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
RDFS_COMMENT = "http://www.w3.org/2000/01/rdf-schema#comment"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
XSD = "http://www.w3.org/2001/XMLSchema#"

# Small, since only the types count; large enough that a classifier is trained.
SAMPLE_TRIPLES = 1_500
# Each graph of it is a file of more than four megabytes, with more than ten thousand entities.
LARGE_FILE_TRIPLES = 150_000
# A change that is small enough for the models to stay as they are.
FEW_TRIPLES = 20


def build_archive(path: Path = ARCHIVE_PATH) -> None:
    """Compile the kernels for the usual CPU and write the archive.

    Kernels that the present archive has, and that have not changed, are taken over.

    Args:
        path: Where to write it. It is used there only if it is `ARCHIVE_PATH`.

    Raises:
        RuntimeError: This CPU cannot run the code that it would compile.
    """
    target = get_target()
    missing = set(target.cpu_features) - list_cpu_features()
    if missing:
        raise RuntimeError(f"the CPU lacks {', '.join(sorted(missing))}")
    with TemporaryDirectory() as scratch:
        # Numba reads its settings when it is imported, so it takes another process. An empty
        # cache: what numba finds in its own is not recorded.
        environment = os.environ | target.compiler_settings | {"NUMBA_CACHE_DIR": scratch}
        command = [sys.executable, "-m", "everalign._kernel_build", "--record", str(path)]
        subprocess.run(command, env=environment, check=True)


def record_kernels(path: Path) -> None:
    """Run small alignments and write an archive of all kernels that they use.

    Args:
        path: Where to.
    """
    kernels: dict[str, bytes] = {}
    _numba.recorded_kernels = kernels
    with TemporaryDirectory() as scratch:
        run_alignments(Path(scratch))
    present = open_archive()
    for name in present.names if present else ():
        content = present.load(name) if present and _is_current(name) else None
        if content is not None:
            kernels[name] = content
    write_archive(path, get_target(), kernels)


def _is_current(name: str) -> bool:
    """Whether a kernel of the present archive has not changed.

    One that only other kernels call is not asked for, and so not recorded, if they are there.
    """
    function, digest, _ = name.rsplit("-", 2)
    module, _, attribute = function.rpartition(".")
    kernel = getattr(sys.modules.get(module), attribute, None)
    return isinstance(kernel, Dispatcher) and hash_kernel(kernel) == digest


def run_alignments(directory: Path) -> None:
    """Create and change small alignments of all usual kinds.

    Args:
        directory: Where to put their states.
    """
    sample = generate_sample(SampleConfig(triples=SAMPLE_TRIPLES, snapshots=2, seed=1))
    links = sample.seeds, sample.validation_links
    left, right = sample.left(0), sample.right(0)
    structure = Aligner.create(directory / "structure", left, right, *links)
    _change_alignment(structure, sample)
    structure.update(sample.left(1), sample.right(1))  # so much that it is trained again
    left += _describe_entities(sample, 0)
    right += _describe_entities(sample, 1)
    # So many known pairs of names that a translation model is learned from them.
    links = sample.seeds + sample.gold(0), sample.validation_links
    literals = Aligner.create(directory / "literals", left, right, *links)
    _change_alignment(literals, sample)
    literals.update(change=ChangeSet(removed_left=left[-FEW_TRIPLES:]))
    literals.update(left[-FEW_TRIPLES:])
    config = Config(cardinality=Cardinality.MANY_TO_MANY)
    Aligner.create(directory / "unseeded", left, right, config=config)
    _encode_large_file(directory / "large")


def _encode_large_file(directory: Path) -> None:
    """Encode files that are long enough for compiled code, and store their names as blocks."""
    sample = generate_sample(SampleConfig(triples=LARGE_FILE_TRIPLES, snapshots=1))
    write_sample(sample, directory, file_format=TripleFormat.N_TRIPLES, with_labels=False)
    left, right = (directory / "base" / f"triples_{number}.nt" for number in (1, 2))
    delta = encode_change_set(
        ChangeSet(added_left=left, added_right=right, seeds=sample.seeds),
        (Vocabulary(), Vocabulary()),
        StateBefore(),
        names_from_iris=True,
    )
    with StateStore.create(directory / "state", {}) as store:
        store.journal_delta(delta)


def _change_alignment(aligner: Aligner, sample: Sample) -> None:
    """Let everything happen that can happen between two trainings."""
    aligner.update(sample.left(1)[:FEW_TRIPLES], sample.right(1)[:FEW_TRIPLES])
    removed = sample.left(0)[:FEW_TRIPLES], sample.right(0)[:FEW_TRIPLES]
    aligner.update(change=ChangeSet(removed_left=removed[0], removed_right=removed[1]))
    first, second, *_ = aligner.links()
    aligner.confirm([(first.left, first.right)])
    aligner.reject([(second.left, second.right)])
    aligner.apply_decisions()
    aligner.explain(first.left)
    aligner.questions()


def _describe_entities(sample: Sample, side: int) -> Iterator[Triple]:
    """Give the entities of a sample literals of all kinds: names, texts, numbers and dates."""
    graph = f"http://{('left', 'right')[side]}.example/property"
    labels = (sample.left_labels, sample.right_labels)[side]()
    for number, (entity, label) in enumerate(labels):
        yield entity, RDFS_LABEL, quote_literal(label)
        yield entity, RDFS_COMMENT, quote_literal(f"{label} has the number {number % 97}")
        yield entity, RDF_TYPE, f"{graph}/Class{number % 5}"
        yield entity, f"{graph}/size", f'"{number * 37 % 10_007}"^^<{XSD}integer>'
        date = f"19{number % 90 + 10}-0{number % 9 + 1}-1{number % 10}"
        yield entity, f"{graph}/since", f'"{date}"^^<{XSD}date>'


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"]:
        record_kernels(Path(sys.argv[2]))
    else:
        try:
            build_archive()
        except RuntimeError as error:  # no reason to end a set-up
            print(f"Kernels will be compiled at first use: {error}", file=sys.stderr)  # noqa: T201
