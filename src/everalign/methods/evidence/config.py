"""Settings of the evidence method, and its internal constants. The defaults fit every dataset."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from everalign.cardinality import Cardinality
from everalign.errors import ConfigError
from everalign.literals import LiteralSettings


@dataclass(frozen=True)
class EvidenceSettings:
    """Settings that a user may change.

    Attributes:
        max_candidates: Candidates kept for each entity; more cost time and find little.
        min_match_probability: Match probability from which a pair is evidence for its neighbours.
        max_propagation_rounds: Limit for propagation without the classifier, which ends earlier
            when it finds no more matches.
        held_out_share: Share of the trusted links that is held out to train the classifier where
            there are too few validation links.
        retrain_growth: Share of facts added or removed from which an update trains again.
        translations: File of translated texts: left text, tab, right text.
        representative_links: Whether the trusted links are a sample of all links. Then entities
            with relations that hardly any of them has are hardly ever linked.
        left_vectors: File of word vectors of the left language in fastText's text format.
        right_vectors: The same of the right language, in the same vector space.

    Raises:
        ConfigError: If a value is out of range.
    """

    # Measured with 3, 4 and 6: F1 of 0.837, 0.845 and 0.852 on validation links, a mean of four
    # runs on ZH-EN and FR-EN (docs/decisions/0009-evidence.md, also for the figures below).
    max_candidates: int = 6
    min_match_probability: float = 0.1
    max_propagation_rounds: int = 80
    # Trades evidence for training pairs: a held-out link is no anchor during training.
    held_out_share: float = 0.33
    # Trades accuracy for time: below it the models stay as they are, and updates are cheap.
    retrain_growth: float = 0.1
    representative_links: bool = True
    translations: str = ""
    left_vectors: str = ""
    right_vectors: str = ""

    def __post_init__(self) -> None:
        if self.max_candidates < 1:
            raise ConfigError("evidence: 'max_candidates' must be at least 1")
        for name in ("min_match_probability", "held_out_share", "retrain_growth"):
            if getattr(self, name) > 1:
                raise ConfigError(f"evidence: {name!r} must be between 0 and 1")
        _ = self.literals  # LiteralSettings checks its own values

    @property
    def literals(self) -> LiteralSettings:
        """The settings for the comparison of literals."""
        return LiteralSettings(
            translations=self.translations,
            left_vectors=self.left_vectors,
            right_vectors=self.right_vectors,
        )


@dataclass(frozen=True)
class EvidenceParameters(EvidenceSettings):
    """The user settings together with the internal constants of the method.

    Configuration files cannot set the constants. Each has its reason in a comment above it.
    """

    # --- Of the task
    # How many links an entity may have; stored with what was learned.
    cardinality: Cardinality = Cardinality.ONE_TO_ONE

    # --- Functionality and relation alignment
    # Share of an edge's functionality that counts this very fact, not the whole relation.
    local_functionality_weight: float = 0.3
    # A fact that more entities share tells nothing and would cost as much as all the others.
    max_fact_degree: int = 500
    # P(r ⊆ r') of two relations before any of their triples could be compared.
    inclusion_prior: float = 0.1
    # Number of triples that weigh as much as the prior.
    inclusion_prior_strength: float = 2.0

    # --- Categories
    # A class or value of fewer entities says little of how classes and values correspond.
    min_category_size: int = 5
    # Match probability from which a pair tells which categories correspond.
    min_category_probability: float = 0.5
    # Pairs that are looked at for that; more take longer and tell the same.
    max_category_pairs: int = 100_000

    # --- Candidate search
    # Lighter pieces of evidence bring no candidates: they are many and change no ranking. With
    # 0.01
    # F1 fell on three of four generated graphs (docs/decisions/0025-scale.md).
    min_evidence_weight: float = 0.005
    # Support counts degree^-discount: entities with many edges gather support by chance. Measured:
    # the share of held-out links among the six best candidates rose from 0.852 to 0.865.
    degree_discount: float = 0.2
    # A candidate with a smaller share of the support of the best one is left out, as it is hardly
    # ever right and takes as long to compare (docs/decisions/0032-fewer-candidates.md).
    min_support_share: float = 0.05
    # A candidate that the search finds no more is dropped below this match probability.
    forget_probability: float = 0.01

    # --- Comparison of neighbourhoods
    # Match probability from which two neighbours make a shared fact.
    min_shared_fact_probability: float = 0.3
    # Shared facts that are intersected to count the entities having all; more change little.
    max_joint_facts: int = 8
    # Entities that are tried one by one for that; with more, the rarest fact stands for all.
    max_joint_degree: int = 1000

    # --- Rounds
    # Factor by which a round must raise the sum of probabilities for another one to follow.
    min_propagation_growth: float = 1.02
    # Rounds with the classifier in a fit; it is retrained in the 1st, 2nd, 4th and 8th.
    classifier_rounds: int = 8
    # The same in an update that trains again: it starts close to the result.
    retraining_rounds: int = 2
    # Rounds after the held-out links have become evidence as well.
    final_rounds: int = 3
    # Match probability from which the names of a pair train the translation model.
    min_name_training_probability: float = 0.5

    # --- Training pairs
    # With fewer, holding out costs more evidence than training gains.
    min_held_out_links: int = 60
    # More teach the classifier little and are worth more as anchors. Measured on two generated
    # graphs of 1 million triples (one of them alone without other changes): see
    # docs/decisions/0025-scale.md.
    max_held_out_links: int = 2000
    # From here on the held-out links are the only training pairs.
    sufficient_held_out_links: int = 500
    # Below that many, pairs from this probability on are training pairs as well, each counted by
    # its probability …
    min_sure_probability: float = 0.9
    # … and with literals from this one on: sure pairs alone would teach that all less similar
    # ones are wrong.
    min_self_training_probability: float = 0.1
    # With literals and fewer pairs than this, names alone are the better guide.
    min_self_training_pairs: int = 20
    # Many-to-many: a pair of labelled entities that is more likely right than wrong may be another
    # link of theirs, and is no example of a wrong one.
    max_wrong_probability: float = 0.5
    # With literals nearly all pairs can be sure; more would only take longer.
    max_self_training_pairs: int = 3000

    # --- Trusted links that contradict their neighbourhood
    # Share of right links that look like wrong ones. Measured with right links only: at most
    # 0.0017 of those of the three datasets at t=0 and of generated graphs with 100,000 triples are
    # contradicted as much as half of the exchanged links.
    contradicted_share: float = 0.002
    # More contradicted links than that are ascribed to chance: standard deviations.
    chance_deviations: float = 2.0
    # If more were wrong, nobody could tell which graph is aligned to which.
    max_wrong_share: float = 0.5
    # Support that is added to both of two that are compared; less than most pieces of evidence.
    least_compared_support: float = 0.1
    # With fewer links nothing is known of how right ones look.
    min_checked_links: int = 20
    # Exchanged links to compare them with, at least.
    min_wrong_pairs: int = 1000
    # Bins of margins.
    margin_bins: int = 20

    # --- Classifier
    # Trees of the classifier.
    tree_count: int = 100
    # Leaves of one of its trees.
    leaf_count: int = 15
    # Parts of the training pairs; none is scored by a model that was trained on it.
    fold_count: int = 2
    # Of gradient boosting; LightGBM's default.
    learning_rate: float = 0.1
    # Bins that the values of a feature are sorted into. With LightGBM's default of 255, training
    # takes 1.4 times as long, and F1 is the same (docs/decisions/0025-scale.md).
    bin_count: int = 63
    # Minimum number of rows in a leaf (LightGBM's default) …
    max_leaf_rows: int = 20
    # … but not more than the number of correct pairs divided by this.
    positives_per_leaf_row: int = 5
    # With few training rows a single model depends on chance. Several are then trained on random
    # parts of rows and features and averaged (bagging): so many that they have this many rows
    # together, which bounds what it costs. Up to so many rows there is also a model that was
    # trained on all of them and scores what no model was trained on; with more, the mean of the
    # folds does (docs/decisions/0025-scale.md) …
    averaged_rows: int = 16_000
    # … but no more than these. More gained little.
    max_averaged_models: int = 4
    # Share of rows and of features that each of them sees.
    bagging_share: float = 0.8
    # Correct, and as many wrong, pairs outside each fold to train on literals.
    min_literal_training_pairs: int = 10
    # Correct, and as many wrong, pairs without literals to train on these alone.
    min_unnamed_training_pairs: int = 500

    # --- Dangling entities
    # Trees of the classifier of dangling entities: it has fewer rows to learn from.
    dangling_tree_count: int = 60
    # Leaves of one of its trees.
    dangling_leaf_count: int = 8
    # Steps of expectation maximisation; it converges long before.
    max_em_steps: int = 50
    # Weight of one half against the estimated share, which overshoots on sparse entities. Measured
    # on generated graphs: shares came out at 0.02 to 0.06 where 0.11 to 0.16 were right.
    share_shrinkage: float = 0.1
    # Lower limit of the share in each step: a share of 0 could never grow again …
    min_matched_share: float = 0.02
    # … and one of 1 never fall.
    max_matched_share: float = 0.98

    # Entities that weigh as much as the share of those before: a small update brings few.
    new_share_strength: float = 50.0

    # --- Confidence
    # Held-out links that weigh as much as the assumption that match probabilities are right.
    calibration_strength: float = 5.0
    # Confidence per match probability where no known link could be used to calibrate it.
    untrained_factor: float = 0.5
    # How much the confidence of a pair before a training counts where it would fall: a link should
    # not come and go with what is learned (docs/decisions/0033-earlier-confidence.md).
    earlier_weight: float = 0.7
    # … if the pair still has this share of its evidence.
    min_kept_evidence: float = 0.5
    # A pair below this is no link, however few links there are to find.
    min_link_confidence: float = 0.1
    # A pair below this is not even proposed.
    min_proposal_confidence: float = 0.01

    # --- Rounds of a training
    # Change of a match probability from which the neighbours are compared again.
    min_probability_change: float = 0.1
    # Neighbours less determined by an entity are not affected by its change.
    min_neighbour_functionality: float = 0.02

    # --- Updates
    # The same two in an update, which is to stay near its delta. Measured on ZH-EN at t=5: with
    # the limits of a training, 100 triples changed 52,000 of 450,000 candidates, with these 3,100.
    min_spreading_change: float = 0.2
    min_spreading_functionality: float = 0.1
    # New facts that are a smaller share of an entity's facts than this do not have it compared
    # again: so the cost of a new fact is bounded, also where it is one of a hub.
    min_new_fact_share: float = 0.005
    # Rounds in which a change spreads to neighbours.
    spreading_rounds: int = 3
    # Further rounds for falling probabilities: nothing may outlive what it rested on.
    retraction_rounds: int = 20

    @staticmethod
    def from_settings(settings: EvidenceSettings) -> EvidenceParameters:
        """Complete the user settings by the default constants.

        Args:
            settings: The user settings.

        Returns:
            Settings and constants.

        Example:
            >>> EvidenceParameters.from_settings(EvidenceSettings(max_candidates=3)).max_candidates
            3
        """
        return EvidenceParameters(**asdict(settings))
