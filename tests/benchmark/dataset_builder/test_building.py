"""A build: the first snapshot, its growth, its links, and the files it leaves."""

from __future__ import annotations

import gzip
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.benchmark.dataset_builder.wheels import HUBS, base, chains, links, write_wheels

from everalign.benchmark.contea_format import ContEADataset, write_rows
from everalign.benchmark.dataset_builder import BuildConfig, SourceGraphs, build_dataset
from everalign.benchmark.dataset_statistics import compute_statistics
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from everalign.errors import ConfigError, InputError
from everalign.io import Triple, read_links, read_triples


@pytest.fixture
def wheels(tmp_path: Path) -> SourceGraphs:
    return write_wheels(tmp_path)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> SourceGraphs:
    """Two generated graphs at their last snapshot, and all links between them."""
    directory = tmp_path_factory.mktemp("large")
    sample = generate_sample(SampleConfig(triples=10_000, snapshots=3))
    sources = SourceGraphs(*(directory / name for name in ("left", "right", "links")))
    write_rows(sources.left, [row for t in range(3) for row in sample.left(t)])
    write_rows(sources.right, [row for t in range(3) for row in sample.right(t)])
    write_rows(sources.links, [*sample.seeds, *sample.validation_links, *sample.gold(2)])
    return sources


def delta(dataset: ContEADataset, t: int, side: int) -> list[Triple]:
    path = dataset.delta_files(t)[side]
    return list(read_triples(path)) if path.stat().st_size else []


def upto(dataset: ContEADataset, t: int, side: int) -> list[Triple]:
    return [triple for step in range(t + 1) for triple in delta(dataset, step, side)]


def entities(triples: list[Triple]) -> set[str]:
    return {name for head, _, tail in triples for name in (head, tail)}


def files(directory: Path) -> dict[str, bytes]:
    found = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in found}


def built(sources: SourceGraphs, config: BuildConfig) -> ContEADataset:
    directory = sources.left.with_name(f"built-{config.seed}-{config.snapshots}")
    build_dataset(sources, directory, config)
    return ContEADataset.open(directory)


def test_a_fifth_is_drawn_where_nothing_is_to_be_completed(wheels: SourceGraphs) -> None:
    dataset = built(wheels, BuildConfig(snapshots=4))
    for side, name in enumerate("lr"):
        assert sorted(delta(dataset, 0, side)) == sorted(base(name))
        # A fifth of 10, of 12 and of 14 triples.
        assert [len(delta(dataset, t, side)) for t in (1, 2, 3)] == [2, 2, 3]
        assert set(upto(dataset, 3, side)) <= {*base(name), *chains(name)}


def test_what_is_drawn_touches_what_was_there(wheels: SourceGraphs) -> None:
    dataset = built(wheels, BuildConfig(snapshots=5, growth=0.5))
    for t in range(1, 5):
        before = entities(upto(dataset, t - 1, 0))
        assert all(head in before or tail in before for head, _, tail in delta(dataset, t, 0))


def test_triples_between_present_entities_are_added(tmp_path: Path) -> None:
    rim = [(f"l-{n}.1", "next", f"l-{m}.1") for n in HUBS for m in HUBS]
    dataset = built(write_wheels(tmp_path, left=rim), BuildConfig(snapshots=2))
    new = delta(dataset, 1, 0)
    arrived = entities(new) - entities(base("l"))
    assert len(arrived) == 2
    # Each of the two has its spoke, and a triple with itself and with the other, both ways.
    assert len(new) == 2 + 4


def test_relations_never_grow(tmp_path: Path) -> None:
    strange = [(f"l-hub{n}", "strange", f"l-new{n}") for n in HUBS]
    dataset = built(write_wheels(tmp_path, left=strange), BuildConfig(growth=1))
    assert {relation for _, relation, _ in upto(dataset, 5, 0)} == {"next"}


def test_a_side_that_is_used_up_waits_for_the_other(tmp_path: Path) -> None:
    sources = write_wheels(tmp_path)
    write_rows(sources.right, base("r") + chains("r")[:2])
    dataset = built(sources, BuildConfig(snapshots=3))
    assert [len(delta(dataset, t, 1)) for t in range(3)] == [10, 2, 0]
    assert [row.right_triples for row in compute_statistics(dataset.directory)] == [10, 12, 12]


def test_gold_links_are_split_and_later_ones_are_for_testing(wheels: SourceGraphs) -> None:
    dataset = built(wheels, BuildConfig(snapshots=6, growth=1))
    assert (
        len(dataset.train_links()),
        len(dataset.validation_links()),
        len(dataset.test_links(0)),
    ) == (2, 1, 7)
    given = {*dataset.train_links(), *dataset.validation_links()}
    for t in range(6):
        left, right = (entities(upto(dataset, t, side)) for side in (0, 1))
        present = {(a, b) for a, b in links() if a in left and b in right}
        assert set(dataset.test_links(t)) == present - given
    new = (dataset.directory / "batch5" / "new_test_links").read_text().splitlines()
    told = {tuple(line.split("\t")) for line in new}
    assert told == set(dataset.test_links(5)) - set(dataset.test_links(4))
    assert told


def test_the_first_snapshot_is_drawn_around_links(large: SourceGraphs) -> None:
    dataset = built(large, BuildConfig(snapshots=2, base_links=100))
    pairs = read_links(large.links)
    linked = {pair.left for pair in pairs}, {pair.right for pair in pairs}
    for side, path in enumerate((large.left, large.right)):
        triples = set(delta(dataset, 0, side))
        present = entities(list(triples))
        assert len(present) >= 100
        assert present <= linked[side]
        between = {(h, r, t) for h, r, t in read_triples(path) if {h, t} <= present}
        assert triples == between


def test_entities_with_few_triples_begin_no_snapshot(large: SourceGraphs) -> None:
    degree = Counter(name for h, _, t in set(read_triples(large.left)) for name in (h, t))
    most = max(degree.values())
    with pytest.raises(ConfigError, match=f"only 0 links .* at least {most + 1} triples"):
        built(large, BuildConfig(base_links=5, min_triples=most + 1))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_files(large: SourceGraphs, tmp_path: Path) -> None:
    for name, seed in (("one", 0), ("two", 0), ("three", 1)):
        build_dataset(large, tmp_path / name, BuildConfig(seed=seed))
    one, two, three = (files(tmp_path / name) for name in ("one", "two", "three"))
    assert one == two
    assert one["base/train_links"] != three["base/train_links"]
    assert one["batch3/new_triples_2"] != three["batch3/new_triples_2"]


def test_no_triple_comes_twice(large: SourceGraphs) -> None:
    dataset = built(large, BuildConfig(seed=3))
    for side in (0, 1):
        rows = upto(dataset, 5, side)
        assert len(rows) == len(set(rows))


def test_n_triples_give_the_same_dataset(wheels: SourceGraphs, tmp_path: Path) -> None:
    def as_n_triples(path: Path) -> Path:
        target = path.with_name(f"{path.name}.nt.gz")
        lines = [f"<{h}> <{r}> <{t}> .\n" for h, r, t in read_triples(path)]
        lines.insert(1, '<x> <says> "a literal" .\n')
        target.write_bytes(gzip.compress("".join(lines).encode()))
        return target

    other = replace(wheels, left=as_n_triples(wheels.left), right=as_n_triples(wheels.right))
    assert build_dataset(wheels, tmp_path / "one").literals == 0
    assert build_dataset(other, tmp_path / "two").literals == 2
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_links_that_cannot_be_used_are_counted(wheels: SourceGraphs, tmp_path: Path) -> None:
    more = [("nobody", "r-hub1"), ("l-0.1", "r-0.2"), links()[0]]
    write_rows(wheels.links, links() + more)
    outcome = build_dataset(wheels, tmp_path / "built", BuildConfig(growth=5))
    # Both links of l-0.1 and both of r-0.2 go, and one of them is the same.
    assert (outcome.unknown_links, outcome.contradicting_links) == (1, 3)
    gold = ContEADataset.open(tmp_path / "built").test_links(5)
    assert not {"l-0.1", "l-0.2"} & {left for left, _ in gold}
    assert ("l-0.3", "r-0.3") in gold


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([(right, left) for left, right in links()], "swapped"),
        (links()[:9], "snapshot 0 has 9 links, expected at least 10"),
        ([], "no link between"),
    ],
)
def test_links_that_make_no_dataset_are_refused(
    wheels: SourceGraphs, tmp_path: Path, rows: list[tuple[str, str]], problem: str
) -> None:
    write_rows(wheels.links, rows)
    with pytest.raises(InputError, match=problem):
        build_dataset(wheels, tmp_path / "built")
    assert not (tmp_path / "built").exists()


def test_graphs_that_are_used_up_are_refused(wheels: SourceGraphs, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no more triples after 6 snapshots"):
        build_dataset(wheels, tmp_path / "built", BuildConfig(snapshots=20, growth=10))
    assert not (tmp_path / "built").exists()


def test_a_first_snapshot_of_one_side_only_is_refused(wheels: SourceGraphs) -> None:
    with pytest.raises(InputError, match="base_left: snapshot 0 must be given for both graphs"):
        replace(wheels, base_right=None)


def test_a_directory_in_use_is_left_alone(wheels: SourceGraphs, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "notes").write_text("mine")
    for path in (mine, mine / "notes"):
        with pytest.raises(InputError, match="a dataset needs an empty directory"):
            build_dataset(wheels, path)
    assert files(mine) == {"notes": b"mine"}


@pytest.mark.parametrize(
    "wrong",
    [{"snapshots": 0}, {"growth": float("nan")}, {"seed": -1}, {"base_links": 0},
     {"min_triples": 0}],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        BuildConfig(**wrong)  # type: ignore[arg-type]
