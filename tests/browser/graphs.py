"""Two small graphs with names in several scripts, which grow once."""

from __future__ import annotations

from pathlib import Path

from everalign import Aligner
from everalign.benchmark.synthetic import SampleConfig, generate_sample, write_sample

LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
# What is added to the names of some entities, with the language of the whole.
ADDITIONS = {
    0: ("{} 杭州市", "zh"),
    1: ("{} 東京タワー", "ja"),
    2: ("الإسكندرية {}", "ar"),
    3: ("{} 😀", "en"),
    4: ("<script>document.title = '{}'</script>", "en"),
    5: ("{}-un-nom-extrêmement-long-sans-aucune-espace-qui-doit-se-couper", "fr"),
}
EVERY = 12


def write_graphs(directory: Path) -> None:
    """Write the files `base_1.nt`, `base_2.nt`, `batch1_1.nt`, `batch1_2.nt` and the links.

    Args:
        directory: Where to.
    """
    sample = directory / "sample"
    write_sample(generate_sample(SampleConfig(triples=6000, snapshots=2)), sample)
    for side in (1, 2):
        rows = (sample / f"names_{side}.tsv").read_text(encoding="utf-8").splitlines()
        names = dict(row.split("\t")[:2] for row in rows)
        for folder, file in (("base", "triples"), ("batch1", "new_triples")):
            lines = _write_triples(sample / folder / f"{file}_{side}", names)
            path = directory / f"{folder}_{side}.nt"
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_triples(source: Path, names: dict[str, str]) -> list[str]:
    lines = []
    entities = set()
    for row in source.read_text(encoding="utf-8").splitlines():
        head, relation, tail = row.split("\t")
        lines.append(f"<{head}> <{relation}> <{tail}> .")
        entities |= {head, tail}
    for entity in sorted(entities & names.keys()):
        pattern, language = ADDITIONS.get(int(entity[-4:], 16) % EVERY, ("{}", "en"))
        lines.append(f'<{entity}> {LABEL} "{pattern.format(names[entity])}"@{language} .')
    return lines


def build_state(directory: Path) -> Path:
    """Align the graphs as they were first.

    Args:
        directory: Where `write_graphs` has written them.

    Returns:
        The state directory.
    """
    state = directory / "names.state"
    links = directory / "sample" / "base"
    Aligner.create(
        state,
        left=directory / "base_1.nt",
        right=directory / "base_2.nt",
        seeds=links / "train_links",
        validation=links / "valid_links",
    )
    return state
