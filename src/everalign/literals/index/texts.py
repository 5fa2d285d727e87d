"""The texts of a graph in the forms that they are compared in, read as far as they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.literals.entity_names import mark_names
from everalign.literals.index.arrays import Array, ArrayBundle, Rows, SortedTable, StringPool
from everalign.literals.matches import FloatArray
from everalign.literals.ngrams import hash_texts
from everalign.literals.parsing import TextTable

NON_LATIN, CHINESE, QUALIFIED, NAME = 1, 2, 4, 8
FORMS = 3


@dataclass(frozen=True)
class TextStore(ArrayBundle):
    """The rows of a text table.

    Attributes:
        forms: The normal form, the Latin form and the one without a qualifier of each text, a
            line each. A form that is the same as the one before is empty.
        flags: Bits: whether the text is in another script, is read as Pinyin, has a qualifier,
            can be a name. A text with a translation has those of its translation.
        added_forms: The forms of texts since the last training; they are numbered behind the
            others.
        added_flags: Their flags.
    """

    forms: StringPool
    flags: NDArray[np.uint8]
    added_forms: StringPool
    added_flags: NDArray[np.uint8]

    @staticmethod
    def build(texts: TextTable, compared: TextTable) -> TextStore:
        """Store texts.

        Args:
            texts: The texts.
            compared: The same texts with translations, if there are any.

        Returns:
            The store.
        """
        nothing = np.empty(0, dtype=np.uint8)
        pool, flags = _store_forms(texts), _combine_flags(compared)
        return TextStore(pool, flags, StringPool.build([]), nothing)

    def __len__(self) -> int:
        return len(self.flags) + len(self.added_flags)

    def append(self, texts: TextTable, compared: TextTable) -> TextStore:
        """Add texts.

        Args:
            texts: The texts.
            compared: The same texts with translations, if there are any.

        Returns:
            A store with them behind the others.
        """
        return TextStore(
            self.forms,
            self.flags,
            self.added_forms.append(_store_forms(texts)),
            np.append(self.added_flags, _combine_flags(compared)),
        )

    def has_flag(self, rows: Rows, flag: int) -> NDArray[np.bool_]:
        """Look up a property of texts.

        Args:
            rows: The texts.
            flag: One of the bits of `flags`.

        Returns:
            Whether each has it.
        """
        flags: NDArray[np.uint8] = read_rows(rows, self.flags, self.added_flags)
        return (flags & flag) > 0

    def read(self, rows: Rows) -> TextTable:
        """Read texts.

        Args:
            rows: The texts wanted, sorted.

        Returns:
            A table of these texts, in which no typed values are.
        """
        split = int(np.searchsorted(rows, len(self.flags)))
        lines = [
            *self.forms.read_lines(rows[:split]),
            *self.added_forms.read_lines(rows[split:] - len(self.flags)),
        ]
        normalised = lines[0::FORMS]
        latin = [new or old for new, old in zip(lines[1::FORMS], normalised, strict=True)]
        unqualified = [new or old for new, old in zip(lines[2::FORMS], latin, strict=True)]
        return TextTable(
            normalised,
            latin,
            unqualified,
            self.has_flag(rows, NON_LATIN),
            self.has_flag(rows, CHINESE),
            np.empty(0, dtype=np.int32),
        )


def read_rows(rows: Rows, trained: Array, added: Array) -> Array:
    """Read from two arrays as if one were behind the other.

    Args:
        rows: The positions wanted.
        trained: The first array.
        added: The second array.

    Returns:
        A value per position.
    """
    values = np.empty((len(rows), *trained.shape[1:]), dtype=trained.dtype)
    is_trained = rows < len(trained)
    values[is_trained] = trained[rows[is_trained]]
    values[~is_trained] = added[rows[~is_trained] - len(trained)]
    return values


def _store_forms(texts: TextTable) -> StringPool:
    forms = zip(texts.normalised, texts.latin, texts.unqualified, strict=True)
    return StringPool.build(
        [
            f"{normalised}\n{'' if latin == normalised else latin}"
            f"\n{'' if unqualified == latin else unqualified}"
            for normalised, latin, unqualified in forms
        ]
    )


def _combine_flags(texts: TextTable) -> NDArray[np.uint8]:
    bits = (
        (NON_LATIN, texts.non_latin),
        (CHINESE, texts.chinese),
        (QUALIFIED, texts.has_qualifier),
        (NAME, mark_names(texts)),
    )
    flags = np.zeros(len(texts), dtype=np.uint8)
    for bit, has_it in bits:
        flags |= (has_it * bit).astype(np.uint8)
    return flags


@dataclass(frozen=True)
class TranslationFile(ArrayBundle):
    """The translations of a file, as it was at the last training.

    Attributes:
        row: The number of each translated text, by the hash of its normal form.
        targets: The translations.
    """

    row: SortedTable
    targets: StringPool

    @staticmethod
    def build(translations: Mapping[str, str]) -> TranslationFile:
        """Store translations.

        Args:
            translations: Normalised texts and their normalised translations.

        Returns:
            The stored translations.
        """
        rows = np.arange(len(translations), dtype=np.int32)
        table = SortedTable.build(hash_texts(list(translations)), rows)
        return TranslationFile(table, StringPool.build(list(translations.values())))

    def apply(self, texts: TextTable) -> TextTable:
        """Put translations in place of Latin transliterations.

        Args:
            texts: Some left texts.

        Returns:
            The same as `TextTable.apply_translations`.
        """
        if not len(self.targets):
            return texts
        row = self.row.find_first(hash_texts(texts.normalised))
        translated = np.flatnonzero(row >= 0)
        targets = self.targets.read_lines(row[translated].astype(np.int64))
        sources = [texts.normalised[position] for position in translated.tolist()]
        return texts.apply_translations(dict(zip(sources, targets, strict=True)))


@dataclass(frozen=True)
class NearestLimits(ArrayBundle):
    """How similar the nearest texts of the other side are, for each text.

    Attributes:
        best: The similarity of the nearest one.
        last: That of the last one that is listed; 0 if there is room for more.
        added_best: The same for texts since the last training.
        added_last: The same.
        added_raised_row: Texts for which a nearer one came since, sorted.
        added_raised_best: Its similarity.
    """

    best: FloatArray
    last: FloatArray
    added_best: FloatArray
    added_last: FloatArray
    added_raised_row: IntArray
    added_raised_best: FloatArray

    @staticmethod
    def build(similarity: FloatArray) -> NearestLimits:
        """Build the limits of a search.

        Args:
            similarity: The similarity of the nearest ones of each text, from high to low.

        Returns:
            The limits.
        """
        nothing = np.empty(0, dtype=np.float32)
        no_row = np.empty(0, dtype=np.int32)
        first, last = (np.ascontiguousarray(similarity[:, slot]) for slot in (0, -1))
        return NearestLimits(first, last, nothing, nothing, no_row, nothing)

    def append(self, best: FloatArray, last: FloatArray) -> NearestLimits:
        """Add texts.

        Args:
            best: The similarity of the nearest one of each.
            last: That of the last one that is listed.

        Returns:
            Limits with them.
        """
        return NearestLimits(
            self.best,
            self.last,
            np.append(self.added_best, best),
            np.append(self.added_last, last),
            self.added_raised_row,
            self.added_raised_best,
        )

    def find_best(self, rows: Rows) -> FloatArray:
        """Look up the similarity of the nearest one.

        Args:
            rows: The texts.

        Returns:
            A similarity per text.
        """
        best: FloatArray = read_rows(rows, self.best, self.added_best)
        raised = SortedTable(
            self.added_raised_row[:0],
            self.added_raised_best[:0],
            self.added_raised_row,
            self.added_raised_best,
        )
        return np.maximum(best, raised.find_first(rows))

    def raise_best(self, rows: Rows, similarity: FloatArray) -> NearestLimits:
        """Take notice of new neighbours of texts.

        Args:
            rows: Texts; one may be there several times.
            similarity: The similarity of each to a new neighbour.

        Returns:
            The limits, with those similarities that are above the best so far.
        """
        above = similarity > self.find_best(rows)
        if not above.any():
            return self
        row = np.append(self.added_raised_row, rows[above].astype(np.int32))
        value = np.append(self.added_raised_best, similarity[above])
        order = np.lexsort((-value, row))
        row, value = row[order], value[order]
        is_first = np.append(True, row[1:] != row[:-1])
        return NearestLimits(
            self.best,
            self.last,
            self.added_best,
            self.added_last,
            row[is_first],
            value[is_first],
        )
