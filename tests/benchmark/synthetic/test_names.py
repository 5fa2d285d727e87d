from __future__ import annotations

import unicodedata

from everalign.benchmark.synthetic import Sample, SampleConfig, generate_sample


def _scripts(labels: dict[str, str]) -> set[str]:
    letters = {letter for label in labels.values() for letter in label if letter != " "}
    return {unicodedata.name(letter).split()[0] for letter in letters}


def _label_pairs(sample: Sample) -> list[tuple[str, str]]:
    left, right = dict(sample.left_labels()), dict(sample.right_labels())
    return [(left[a].lower(), right[b].lower()) for a, b in sample.gold(-1)]


def _share_with_equal_sounds(pairs: list[tuple[str, str]]) -> float:
    equal = [
        all(left.count(latin) == right.count(greek) for latin, greek in ("kκ", "lλ", "nν", "dδ"))
        for left, right in pairs
    ]
    return sum(equal) / len(equal)


def test_each_side_has_its_own_script(sample: Sample) -> None:
    assert _scripts(dict(sample.left_labels())) == {"LATIN"}
    assert _scripts(dict(sample.right_labels())) == {"GREEK"}


def test_each_linked_entity_has_one_label(sample: Sample) -> None:
    labels = list(sample.left_labels())
    assert len(dict(labels)) == len(labels)
    assert {a for a, _ in sample.gold(-1)} <= dict(labels).keys()


def test_only_labels_of_entities_in_the_graph_are_given(sample: Sample) -> None:
    triples = [triple for t in range(6) for triple in sample.right(t)]
    entities = {entity for head, _, tail in triples for entity in (head, tail)}
    assert dict(sample.right_labels()).keys() <= entities


def test_the_labels_of_linked_entities_sound_alike(sample: Sample) -> None:
    pairs = _label_pairs(sample)
    left, right = zip(*pairs, strict=True)
    strangers = list(zip(left, right[1:] + right[:1], strict=True))
    assert 0.7 < _share_with_equal_sounds(pairs) < 1
    assert _share_with_equal_sounds(strangers) < 0.4


def test_without_misspellings_they_sound_the_same() -> None:
    sample = generate_sample(SampleConfig(triples=1_000, misspelt_share=0))
    assert _share_with_equal_sounds(_label_pairs(sample)) == 1


def test_some_entities_have_the_same_label(sample: Sample) -> None:
    labels = [label for _, label in sample.left_labels()]
    assert len(set(labels)) < len(labels)
