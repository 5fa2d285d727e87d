"""Links that are not one-to-one: through every command, and against generated duplicates."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests import toy

from everalign import Aligner, ChangeSet, Config, Link
from everalign.benchmark.metrics import score_links
from everalign.benchmark.synthetic import Sample, SampleConfig, generate_sample
from everalign.cardinality import Cardinality
from everalign.errors import ConfigError, SeedError
from everalign.methods import METHODS

Run = Callable[..., subprocess.CompletedProcess[str]]

# Christiania is Oslo once more: both have the same two neighbours.
LEFT = [*toy.LEFT, ("Christiania", "in", "Norway"), ("Christiania", "by", "Sea")]
OSLO, CHRISTIANIA = ("Oslo", "Осло"), ("Christiania", "Осло")
TRONDHEIM = ("Trondheim", "Тронхейм")
# Each has one of its two neighbours in common with the other.
HALF = [("Trondheim", "Осло"), ("Oslo", "Тронхейм"), ("Christiania", "Тронхейм")]


@pytest.fixture(autouse=True)
def _toy_method() -> Iterator[None]:
    toy.register_toy()
    yield
    del METHODS["toy"]


def create(state: Path, cardinality: str) -> Aligner:
    config = Config(method="toy", cardinality=Cardinality(cardinality))
    return Aligner.create(state, LEFT, toy.RIGHT, toy.SEEDS, config=config)


def found(aligner: Aligner, at: int | None = None) -> set[tuple[str, str]]:
    return {(link.left, link.right) for link in aligner.links(at=at) if link.origin == "found"}


@pytest.mark.parametrize(
    ("cardinality", "links"),
    [
        ("one-to-one", {OSLO, TRONDHEIM}),
        ("many-to-one", {OSLO, CHRISTIANIA, ("Trondheim", "Осло")}),
        ("one-to-many", {OSLO, ("Oslo", "Тронхейм")}),
        ("many-to-many", {OSLO, CHRISTIANIA, TRONDHEIM, *HALF}),
    ],
)
def test_links_satisfy_the_cardinality(
    tmp_path: Path, cardinality: str, links: set[tuple[str, str]]
) -> None:
    aligner = create(tmp_path / "state", cardinality)
    assert aligner.status().cardinality == cardinality
    # Where two are equally good, either may be taken: so only those that are certain.
    certain = {OSLO} if cardinality in ("one-to-one", "one-to-many") else {OSLO, CHRISTIANIA}
    assert certain <= found(aligner)
    assert len(found(aligner)) == len(links)
    if cardinality == "many-to-many":
        assert found(aligner) == links
    assert not aligner.verify().findings


def test_a_confirmed_link_leaves_those_that_do_not_compete(tmp_path: Path) -> None:
    aligner = create(tmp_path / "state", "many-to-one")
    aligner.confirm([("Bergen", "Осло")])
    assert {OSLO, CHRISTIANIA} <= found(aligner)
    aligner.confirm([("Oslo", "Берген")])
    links = {(link.left, link.right): link.origin for link in aligner.links()}
    assert links["Bergen", "Осло"] == links["Oslo", "Берген"] == "given"
    # A left entity has one link: the found one made way.
    assert OSLO not in links
    assert CHRISTIANIA in links
    aligner.update()
    assert CHRISTIANIA in found(aligner)
    assert OSLO not in found(aligner)


def test_a_confirmation_replaces_an_earlier_one_of_the_same_left_entity_only(
    tmp_path: Path,
) -> None:
    aligner = create(tmp_path / "state", "many-to-one")
    aligner.confirm([OSLO, CHRISTIANIA], apply=True)
    aligner.confirm([("Oslo", "Берген")], apply=True)
    given = {(link.left, link.right) for link in aligner.links() if link.origin == "given"}
    assert given == {*toy.SEEDS, CHRISTIANIA, ("Oslo", "Берген")}
    event = aligner.history("Oslo")[-2:]
    assert [row.kind for row in event] == ["withdrawn", "confirmed"]
    with pytest.raises(SeedError, match="'Oslo' is linked to both"):
        aligner.confirm([OSLO, ("Oslo", "Рим")])


def test_an_entity_without_counterpart_loses_all_its_links(tmp_path: Path) -> None:
    aligner = create(tmp_path / "state", "many-to-many")
    aligner.confirm([OSLO, CHRISTIANIA])
    aligner.no_counterpart(right=["Осло"])
    assert all(link.right != "Осло" for link in aligner.links())
    aligner.confirm([OSLO])
    aligner.update()
    assert {OSLO} == {(x.left, x.right) for x in aligner.links() if x.origin == "given"} - {
        *toy.SEEDS
    }


def test_rejected_pairs_are_out_and_others_of_the_entity_stay(tmp_path: Path) -> None:
    aligner = create(tmp_path / "state", "many-to-many")
    aligner.reject([CHRISTIANIA])
    aligner.update()
    assert CHRISTIANIA not in found(aligner)
    assert {OSLO, ("Christiania", "Тронхейм")} <= found(aligner)


def test_history_changes_and_revert(tmp_path: Path) -> None:
    aligner = create(tmp_path / "state", "many-to-many")
    before = aligner.links()
    aligner.update(
        change=ChangeSet(
            removed_left=[("Christiania", "by", "Sea"), ("Christiania", "in", "Norway")],
            added_left=[("Christiania", "was", "Oslo")],
        )
    )
    assert not {pair for pair in found(aligner) if pair[0] == "Christiania"}
    assert OSLO in found(aligner)
    assert found(aligner, at=0) == {(x.left, x.right) for x in before if x.origin == "found"}
    lost = {(row.left, row.right): row.kind for row in aligner.diff(0, 1)}
    assert lost[CHRISTIANIA] == "retracted"
    assert not [row for row in aligner.history() if row.kind == "revised"]
    aligner.revert(0)
    assert [(x.left, x.right, x.score) for x in aligner.links()] == [
        (x.left, x.right, x.score) for x in before
    ]


def test_seeds_may_give_an_entity_several_links(tmp_path: Path) -> None:
    seeds = [*toy.SEEDS, OSLO, CHRISTIANIA]
    with pytest.raises(SeedError, match="'Осло' is linked to both 'Oslo' and 'Christiania'"):
        Aligner.create(tmp_path / "one", LEFT, toy.RIGHT, seeds, config=Config(method="toy"))
    config = Config(method="toy", cardinality=Cardinality.MANY_TO_ONE)
    aligner = Aligner.create(tmp_path / "many", LEFT, toy.RIGHT, seeds, config=config)
    assert sum(link.origin == "given" for link in aligner.links()) == len(seeds)
    with pytest.raises(SeedError, match="'Oslo' is linked to both"):
        aligner.update(change=ChangeSet(seeds=[("Oslo", "Рим")]))


def test_pages_explanations_and_details_have_all_links(tmp_path: Path) -> None:
    aligner = create(tmp_path / "state", "many-to-many")
    explained = aligner.explain("Осло").sides[0]
    assert {(link.left, link.right) for link in explained.links} == {
        pair for pair in found(aligner) if pair[1] == "Осло"
    }
    assert explained.link == explained.links[0]
    with aligner.session() as view:
        details = view.entity("Осло")
        names = {entity.name for entity in details.counterparts}
        assert names == {"Oslo", "Christiania", "Trondheim"}
        listed: list[Link] = []
        after = None
        while True:
            page = view.links(after=after, limit=1)
            listed += page.links
            after = page.next
            if after is None:
                break
        assert [(x.left, x.right) for x in listed] == [(x.left, x.right) for x in aligner.links()]
        assert len(listed) == view.count_links()


def test_evaluation_counts_pairs(tmp_path: Path) -> None:
    aligner = create(tmp_path / "state", "many-to-one")
    gold = [OSLO, CHRISTIANIA, ("Bergen", "Берген")]
    scores = aligner.evaluate(gold, scope="gold")
    assert (scores.gold, scores.correct) == (3, 2)
    # A given link of the right entity decides nothing about its other left entities.
    aligner.confirm([OSLO])
    scores = aligner.evaluate(gold, scope="gold")
    assert (scores.gold, scores.correct) == (2, 1)


def test_a_method_that_finds_one_to_one_links_refuses_others(tmp_path: Path) -> None:
    config = Config(method="names", cardinality=Cardinality.MANY_TO_ONE)
    with pytest.raises(ConfigError, match="'names' finds one-to-one links only"):
        Aligner.create(tmp_path / "state", LEFT, toy.RIGHT, config=config)


def test_the_configuration_names_it() -> None:
    config = Config.parse('cardinality = "many-to-one"')
    assert config.cardinality is Cardinality.MANY_TO_ONE
    assert Config.parse(config.to_toml()) == config
    with pytest.raises(ConfigError, match="unknown cardinality 'many'; choose from one-to-one"):
        Config.parse('cardinality = "many"')
    with pytest.raises(ConfigError, match="'cardinality' must be of type str"):
        Config.parse("cardinality = 1")


def test_the_command_line(everalign_toy: Run, tmp_path: Path) -> None:
    toy.write_files(tmp_path)
    rows = "".join("\t".join(row) + "\n" for row in LEFT)
    (tmp_path / "left.tsv").write_text(rows, encoding="utf-8")
    files = [f"--{name}={name}.tsv" for name in ("left", "right", "seeds")]
    options = "--method", "toy", "--cardinality"
    result = everalign_toy("init", "state", *files, *options, "many-to-one")
    assert result.returncode == 0, result.stderr
    assert "many-to-one" in everalign_toy("status", "state").stdout
    shown = everalign_toy("explain", "state", "Осло").stdout
    assert "link Oslo – Осло" in shown
    assert "link Christiania – Осло" in shown
    links = everalign_toy("links", "state").stdout
    assert "Oslo\tОсло" in links
    assert "Christiania\tОсло" in links
    result = everalign_toy("init", "other", *files, *options, "some")
    assert (result.returncode, result.stdout) == (2, "")
    assert "unknown cardinality 'some'" in result.stderr


@pytest.fixture(scope="module", params=["many-to-one", "many-to-many"])
def doubled(request: pytest.FixtureRequest) -> tuple[Cardinality, Sample]:
    cardinality = Cardinality(request.param)
    config = SampleConfig(
        triples=6000,
        snapshots=1,
        seed=11,
        left_duplicate_share=0.2,
        right_duplicate_share=0.0 if cardinality.unique_left else 0.2,
    )
    return cardinality, generate_sample(config)


def align(state: Path, sample: Sample, cardinality: Cardinality) -> Aligner:
    left, right = (
        [*triples, *((entity, "label", f'"{label}"') for entity, label in labels)]
        for triples, labels in (
            (sample.left(0), sample.left_labels()),
            (sample.right(0), sample.right_labels()),
        )
    )
    return Aligner.create(state, left, right, config=Config(cardinality=cardinality))


@pytest.mark.slow
def test_duplicates_are_found(tmp_path: Path, doubled: tuple[Cardinality, Sample]) -> None:
    cardinality, sample = doubled
    gold = {*sample.seeds, *sample.validation_links, *sample.gold(0)}
    lefts, rights = (Counter(pair[side] for pair in gold) for side in (0, 1))
    duplicates = {pair for pair in gold if lefts[pair[0]] > 1 or rights[pair[1]] > 1}
    recall, precision = [], []
    for number, each in enumerate((Cardinality.ONE_TO_ONE, cardinality)):
        links = found(align(tmp_path / str(number), sample, each))
        of_gold = {pair for pair in links if pair[0] in lefts or pair[1] in rights}
        precision.append(score_links(of_gold, gold).precision)
        recall.append(len(links & duplicates) / len(duplicates))
    # An entity and its duplicate cannot both be linked one-to-one.
    assert recall[0] <= 0.5
    assert recall[1] >= recall[0] + 0.2
    assert precision[1] >= 0.9 * precision[0]


@pytest.mark.slow
def test_an_update_keeps_the_cardinality(
    tmp_path: Path, doubled: tuple[Cardinality, Sample]
) -> None:
    cardinality, sample = doubled
    aligner = align(tmp_path / "state", sample, cardinality)
    (left, right), *_ = sorted(found(aligner))
    aligner.update(left=[(left, "note", '"x"')])
    aligner.confirm([(left, right)])
    aligner.update()
    pairs = [(link.left, link.right) for link in aligner.links()]
    assert len(set(pairs)) == len(pairs)
    if cardinality.unique_left:
        assert len({pair[0] for pair in pairs}) == len(pairs)
    assert len({pair[1] for pair in pairs}) < len(pairs)
    assert not aligner.verify().findings
