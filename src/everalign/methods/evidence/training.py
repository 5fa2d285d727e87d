"""Training: which links are held out, the rounds of propagation with the classifier, the result.

Some trusted links are held out at first: they are no anchors, so that they look to the classifier
like the links that have to be found. When it is trained, they become anchors like the others, and
a few final rounds follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from everalign._checkpoints import load_checkpoint, save_checkpoint
from everalign._progress import Progress
from everalign.cardinality import Cardinality
from everalign.graph import IntArray
from everalign.matching import NO_PAIRS, mark_listed_pairs
from everalign.methods.base import AlignmentTask, StateArrays
from everalign.methods.evidence.calibration import fit_calibration
from everalign.methods.evidence.candidates import (
    CandidateTable,
    MatchProbabilities,
    select_pairs,
)
from everalign.methods.evidence.classifier import (
    PairClassifier,
    TrainedModels,
    TrainingLabels,
    TrainingPairs,
    classify_all,
    classify_refreshed,
    train_classifier,
)
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.dangling import (
    DanglingExample,
    MatchState,
    estimate_no_candidate_dangling,
    train_dangling_classifier,
)
from everalign.methods.evidence.features import (
    ComparedCandidates,
    compare_candidates,
    learn_correspondences,
    replace_translations,
)
from everalign.methods.evidence.link_doubts import NO_DOUBTS, LinkDoubts
from everalign.methods.evidence.link_rates import NO_RATES
from everalign.methods.evidence.neighbourhood import NEIGHBOUR_COLUMNS
from everalign.methods.evidence.propagation import GraphPair, propagate
from everalign.methods.evidence.rounds import (
    AffectedEntities,
    find_affected_neighbours,
    refresh_comparisons,
)
from everalign.methods.evidence.seed_check import check_links


@dataclass(frozen=True)
class SeedSplit:
    """The trusted links, split into anchors and links held out for training.

    Attributes:
        anchors: Rows of (left, right) that are evidence from the beginning.
        held_out: Rows that are training pairs first.
        has_sufficient: Whether the held-out links are the only training pairs.
    """

    anchors: IntArray
    held_out: IntArray
    has_sufficient: bool

    @staticmethod
    def from_task(task: AlignmentTask, config: EvidenceParameters, seed: int) -> SeedSplit:
        """Split the trusted links of a task.

        Args:
            task: Gives seeds and validation links.
            config: Gives the numbers of links.
            seed: Random seed.

        Returns:
            Validation links are held out; if they are too few, a random share of all trusted
            links; if even that is too few to train on, none.
        """
        links = np.concatenate([task.seeds, task.validation])
        count = min(round(config.held_out_share * len(links)), config.max_held_out_links)
        if count < config.min_held_out_links:
            anchors, held_out = links, links[:0]
        # Half of the wanted number will do: no seed has to be given up as evidence.
        elif count / 2 <= len(task.validation) <= config.max_held_out_links:
            anchors, held_out = task.seeds, task.validation
        else:
            # Drawn from the seed alone: whoever splits the same task gets the same links.
            order = np.random.default_rng(seed).permutation(len(links))
            anchors, held_out = links[order[count:]], links[order[:count]]
        return SeedSplit(anchors, held_out, len(held_out) >= config.sufficient_held_out_links)

    @property
    def links(self) -> IntArray:
        """All trusted links, as rows of (left, right)."""
        return np.concatenate([self.anchors, self.held_out])

    @property
    def link_count(self) -> int:
        """Number of trusted links."""
        return len(self.anchors) + len(self.held_out)

    def _sufficiency(self, config: EvidenceParameters) -> float:
        """How near the number of held-out links is to one that suffices, from 0 to 1."""
        return min(1.0, len(self.held_out) / config.sufficient_held_out_links)

    def choose_training_pairs(
        self,
        graphs: GraphPair,
        probabilities: MatchProbabilities,
        first_counts: tuple[int, int],
    ) -> TrainingPairs:
        """Choose the pairs to train on.

        Args:
            graphs: The graphs.
            probabilities: Current match probabilities.
            first_counts: Numbers of left and right entities at the first training.

        Returns:
            The held-out links and, if these are not sufficient, likely pairs of other entities,
            weighted by their match probability (self-training).
        """
        trusted = graphs.doubts.weigh(self.held_out)
        if self.has_sufficient:
            return TrainingPairs(self.held_out, trusted)
        config = graphs.config
        likely = probabilities.select_at_least(_choose_least_probability(graphs))
        table, probability = likely.table, likely.probability
        rows = select_pairs(table, probability, config.cardinality)
        pairs = np.stack([table.left[rows], table.right[rows]], axis=1)
        probability = probability[rows]
        # A pair that shares an entity with a held-out link is that link, or is wrong; unless the
        # entity may have several.
        known = mark_listed_pairs(pairs[:, 0], pairs[:, 1], self.held_out)
        for side, is_unique in enumerate(config.cardinality.unique_sides):
            if is_unique:
                known |= np.isin(pairs[:, side], self.held_out[:, side])
        if not graphs.self_trained:
            # Likely pairs fade out as held-out links become many: there is no jump where they end.
            probability = probability * np.float32(1 - self._sufficiency(config))
            # Later entities are mostly dangling, and likely pairs of them mostly wrong.
            known |= (pairs >= first_counts).any(axis=1)
        pairs, probability = pairs[~known], probability[~known]
        if graphs.self_trained:
            # Every n-th pair, evenly over the ids: the choice must not depend on chance.
            step = max(1, -(-len(pairs) // config.max_self_training_pairs))  # rounded up
            pairs, probability = pairs[::step], probability[::step]
        return TrainingPairs(
            np.concatenate([self.held_out, pairs]), np.concatenate([trusted, probability])
        )


def _choose_least_probability(graphs: GraphPair) -> float:
    """The match probability from which a pair is a training pair."""
    config = graphs.config
    if not graphs.self_trained:
        # Without literals, a pair rests on other pairs: less sure ones are often wrong together.
        return config.min_sure_probability
    if not any(config.cardinality.unique_sides):
        # Where entities may have any number of links, nothing but its probability tells that a
        # pair is right: it has to be more likely right than wrong.
        return config.max_wrong_probability
    return config.min_self_training_probability


class TrainingResult(NamedTuple):
    """The models, and the candidates of the last round without held-out links as evidence.

    Attributes:
        models: The trained models.
        compared: The candidates.
        probabilities: Their match probabilities.
    """

    models: TrainedModels
    compared: ComparedCandidates
    probabilities: MatchProbabilities


def train_models(
    graphs: GraphPair,
    split: SeedSplit,
    start: MatchProbabilities | None,
    rounds: int,
    first_counts: tuple[int, int],
    thin_graphs: Callable[[IntArray, int], GraphPair] | None,
    seed: int,
    progress: Progress,
) -> TrainingResult | None:
    """Train the models in rounds: classify, match, compare again.

    Args:
        graphs: The graphs; their anchors are those of the split, without the held-out links.
        split: The trusted links.
        start: Match probabilities to start from; None to start with propagation.
        rounds: Number of rounds; without any, nothing is trained.
        first_counts: Numbers of left and right entities at the first training.
        thin_graphs: Builds the graphs as if the entities of the given pairs had come late; None
            if no entity has.
        seed: Random seed.
        progress: Called after each round.

    Returns:
        The models with the candidates; None if there is too little to train on.
    """
    config = graphs.config
    begin = _RoundStart.load(graphs) or _RoundStart(
        0, start or _start_propagation(graphs, progress)
    )
    if rounds == 0:
        return None
    probabilities = begin.probabilities
    graphs = replace(graphs, doubts=begin.doubts)
    if begin.compared is None:
        graphs = replace(graphs, doubts=check_links(graphs, split.links, probabilities))
        progress("comparing neighbours", 0, 0)
        graphs = learn_correspondences(graphs, probabilities)
        compared = compare_candidates(graphs, probabilities)
    else:
        compared = begin.compared
    for number in range(begin.number, rounds):
        progress("learning", number, rounds)
        before, moved = probabilities, NO_PAIRS
        if number & (number + 1) == 0:  # numbers 0, 1, 3, 7: each time the rounds have doubled
            _RoundStart(number, probabilities, compared if number else None, graphs.doubts).save()
            if number and 2 * number + 1 >= rounds:  # the last time
                doubts = check_links(graphs, split.links, probabilities)
                moved = doubts.list_changed(graphs.doubts, config.min_probability_change)
                graphs = replace(graphs, doubts=doubts)
            if number:
                graphs = learn_correspondences(graphs, probabilities)
                compared = replace_translations(compared, graphs)
            pairs = split.choose_training_pairs(graphs, probabilities, first_counts)
            labels = TrainingLabels.from_pairs(
                pairs, graphs.sizes, config.fold_count, config.cardinality
            ).with_doubtful(probabilities.select_at_least(config.max_wrong_probability).table)
            # With few named entities, propagation is the better guide.
            too_few = graphs.self_trained and len(pairs.pairs) < config.min_self_training_pairs
            if too_few or not labels.can_train(compared.table):
                return None
            classifier = train_classifier(compared, labels, seed)
            probabilities = classify_all(compared, classifier, labels)
        else:
            probabilities = classify_refreshed(compared, classifier, labels)
        affected = find_affected_neighbours(graphs, before, probabilities, moved)
        compared = refresh_comparisons(compared, graphs, probabilities, affected)
    # The last comparisons are newer than the last probabilities.
    probabilities = classify_refreshed(compared, classifier, labels)
    examples = [DanglingExample(compared, probabilities.probability)]
    if thin_graphs is not None:
        progress("learning what late entities look like", 0, 0)
        thinned = replace(
            thin_graphs(pairs.pairs, seed),
            translations=graphs.translations,
            categories=graphs.categories,
            doubts=graphs.doubts,
        )
        examples.append(_compare_late(compared, probabilities, classifier, labels, pairs, thinned))
    no_candidate = [
        estimate_no_candidate_dangling(example.compared, labels, pairs.pairs)
        for example in examples
    ]
    models = TrainedModels(
        classifier,
        train_dangling_classifier(examples, labels, seed),
        (no_candidate[0], no_candidate[-1]),
        # Known when all trusted links are anchors.
        (NO_RATES, NO_RATES),
        fit_calibration(
            probabilities, split.held_out, graphs.doubts.weigh(split.held_out), config
        ),
    )
    return TrainingResult(models, compared, probabilities)


def _compare_late(
    compared: ComparedCandidates,
    probabilities: MatchProbabilities,
    classifier: PairClassifier,
    labels: TrainingLabels,
    pairs: TrainingPairs,
    thinned: GraphPair,
) -> DanglingExample:
    """Compare and classify the candidates of training pairs as if their entities came late."""
    affected = AffectedEntities.from_ids(thinned.sizes, pairs.pairs[:, 0], pairs.pairs[:, 1])
    # Nothing is known of them at first.
    is_affected = affected.mark_rows(probabilities.table)
    probabilities = MatchProbabilities(
        probabilities.table, np.where(is_affected, np.float32(0), probabilities.probability)
    )
    # The first round finds candidates, the second one sees how probable their rivals are.
    for _ in range(2):
        compared = refresh_comparisons(compared, thinned, probabilities, affected)
        probabilities = classify_refreshed(compared, classifier, labels)
    return DanglingExample(compared, probabilities.probability)


def _start_propagation(graphs: GraphPair, progress: Progress) -> MatchProbabilities:
    # Where no side excludes anything, only mutual best pairs are sure enough to start from.
    is_unique = any(graphs.config.cardinality.unique_sides)
    return propagate(graphs, progress, None if is_unique else Cardinality.ONE_TO_ONE)


class _RoundStart(NamedTuple):
    """What a round in which the classifier is trained begins with: a training can go on from it.

    Attributes:
        number: The number of the round.
        probabilities: Match probabilities.
        compared: The candidates that were compared in the round before; None in round 0, which
            compares all anew.
        doubts: Trusted links that are doubted by then.
    """

    number: int
    probabilities: MatchProbabilities
    compared: ComparedCandidates | None = None
    doubts: LinkDoubts = NO_DOUBTS

    def save(self) -> None:
        """Save it as a checkpoint."""
        table = self.probabilities.table
        arrays = {
            "number": np.array(self.number),
            "left": table.left,
            "right": table.right,
            "probability": self.probabilities.probability,
            "doubted_left": self.doubts.pairs[:, 0],
            "doubted_right": self.doubts.pairs[:, 1],
            "doubted_probability": self.doubts.probability,
        }
        compared = self.compared
        if compared is not None:
            arrays |= {
                "compared_left": compared.table.left,
                "compared_right": compared.table.right,
                "from_left": compared.comparison[0],
                "from_right": compared.comparison[1],
                "previous": compared.previous,
                "refreshed": compared.refreshed,
            }
            if compared.literals is not None:
                arrays["literals"] = compared.literals
        save_checkpoint(arrays)

    @staticmethod
    def load(graphs: GraphPair) -> _RoundStart | None:
        """Load the last checkpoint of a training with the same input, if there is one."""
        arrays = load_checkpoint()
        if arrays is None or not _is_valid(arrays, graphs.sizes):
            return None
        pairs = arrays["left"], arrays["right"]
        probabilities = MatchProbabilities.from_pairs(*pairs, arrays["probability"], graphs.sizes)
        number = int(arrays["number"])
        if number == 0:
            return _RoundStart(number, probabilities)
        pairs = arrays["compared_left"], arrays["compared_right"]
        compared = ComparedCandidates(
            graphs,
            CandidateTable.from_pairs(*pairs, graphs.sizes),
            (arrays["from_left"], arrays["from_right"]),
            arrays["previous"],
            arrays["refreshed"],
            arrays.get("literals"),
        )
        doubted = np.stack([arrays["doubted_left"], arrays["doubted_right"]], axis=1)
        doubts = LinkDoubts(doubted, arrays["doubted_probability"])
        return _RoundStart(number, probabilities, compared, doubts)


def _is_valid(arrays: StateArrays, sizes: tuple[int, int]) -> bool:
    """Whether compiled code can index by what is in a file that anybody may have written."""
    columns = ("doubted_left", "doubted_right", "doubted_probability")
    if not _are_pairs(arrays, columns, sizes):
        return False
    columns = ("left", "right", "probability")
    if arrays["number"] > 0:
        if not _are_pairs(arrays, columns, sizes):
            return False
        count = len(arrays["previous"])
        columns = ("compared_left", "compared_right", "previous")
        width = len(NEIGHBOUR_COLUMNS)
        if {arrays["from_left"].shape, arrays["from_right"].shape} != {(count, width)}:
            return False
        refreshed = arrays["refreshed"]
        if len(refreshed) and not 0 <= refreshed.min() <= refreshed.max() < count:
            return False
    return _are_pairs(arrays, columns, sizes)


def _are_pairs(arrays: StateArrays, names: tuple[str, ...], sizes: tuple[int, int]) -> bool:
    left, right, value = (arrays[name] for name in names)
    if not len(left) == len(right) == len(value):
        return False
    return not len(left) or all(
        0 <= ids.min() <= ids.max() < size for ids, size in zip((left, right), sizes, strict=True)
    )


def run_final_rounds(
    graphs: GraphPair, result: TrainingResult, held_out: IntArray, progress: Progress
) -> MatchState:
    """Run the last rounds, with all trusted links as anchors.

    Args:
        graphs: The graphs; their anchors are all trusted links.
        result: The models and the candidates of the last round of training.
        held_out: The links that were held out.
        progress: Called after each round.

    Returns:
        Match probabilities and probabilities of being dangling.
    """
    models, compared, probabilities = result
    rounds = graphs.config.final_rounds
    learned = compared.graphs
    graphs = replace(
        graphs,
        translations=learned.translations,
        categories=learned.categories,
        doubts=learned.doubts,
    )
    # Only the neighbours of links that were held out see other matches than before.
    affected = AffectedEntities.from_neighbours(graphs, held_out[:, 0], held_out[:, 1])
    for number in range(max(1, rounds)):
        progress("concluding", number, rounds)
        compared = refresh_comparisons(compared, graphs, probabilities, affected)
        before, probabilities = probabilities, classify_refreshed(compared, models.classifier)
        affected = find_affected_neighbours(graphs, before, probabilities)
    return MatchState.from_comparison(probabilities, compared, models)
