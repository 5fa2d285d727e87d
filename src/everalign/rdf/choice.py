"""Which statements of a file are wanted; the others are left out and counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields

from everalign.errors import ConfigError
from everalign.rdf.names import Triple, shortened
from everalign.rdf.statements import Statements

_RULES = {
    "predicate": "predicates",
    "not-predicate": "not_predicates",
    "namespace": "namespaces",
    "graph": "graphs",
    "language": "languages",
}


@dataclass(frozen=True)
class Choice:
    """What to keep of a file; a field that is left empty keeps everything.

    An IRI that ends in ``/``, ``#`` or ``*`` stands for all that begin with it.

    >>> Choice.parsed(["predicate=http://example.org/", "language=en", "language="])
    ... # doctest: +NORMALIZE_WHITESPACE
    Choice(predicates=('http://example.org/',), not_predicates=(), namespaces=(), graphs=(),
           languages=('en', ''))
    """

    predicates: tuple[str, ...] = ()
    """The relations and attributes to keep."""

    not_predicates: tuple[str, ...] = ()
    """The relations and attributes to leave out."""

    namespaces: tuple[str, ...] = ()
    """What the name of an entity begins with; ``_:`` stands for blank nodes."""

    graphs: tuple[str, ...] = ()
    """The named graphs to keep, where a file has them; an empty one is the default graph."""

    languages: tuple[str, ...] = ()
    """The languages of literals, ``en`` also for ``en-gb``; an empty one is no language."""

    @classmethod
    def parsed(cls, rules: Iterable[str]) -> Choice:
        """From rules such as ``predicate=IRI``, ``namespace=IRI`` or ``language=en``."""
        chosen: dict[str, tuple[str, ...]] = {}
        for rule in rules:
            key, equals, value = rule.partition("=")
            if not equals or key not in _RULES:
                known = ", ".join(f"{name}=" for name in _RULES)
                raise ConfigError(f"{shortened(rule)} is no rule to choose by: use {known}")
            if not value and key not in ("graph", "language"):
                raise ConfigError(f"{shortened(rule)} names no {key}")
            chosen[_RULES[key]] = (*chosen.get(_RULES[key], ()), value)
        return cls(**chosen)

    def keeps_all(self) -> bool:
        """Whether there is no rule at all."""
        return not any(getattr(self, field.name) for field in fields(self))


class Sieve:
    """A choice at work: what it was asked before it remembers.

    >>> sieve = Sieve(Choice(not_predicates=("urn:born",), languages=("fr",)))
    >>> sieve.kept(Statements([("a", "urn:born", "b")], [("a", "urn:name", '"Ada"@en')]))
    Statements(triples=[], literals=[], removed=False)
    """

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._all = choice.keeps_all()
        self._namespaces = tuple(each.removesuffix("*") for each in choice.namespaces)
        self._languages = {each.lower() for each in choice.languages}
        self.keeps_predicate = _remembered(self._wants_predicate)
        self.keeps_graph = _remembered(lambda graph: _is_among(graph, choice.graphs, True))
        self._keeps_suffix = _remembered(self._wants_suffix)

    def kept(self, statements: Statements) -> Statements:
        """The statements without those that are not wanted."""
        if self._all:
            return statements
        triples, literals, removed = statements
        return Statements(
            [row for row in triples if self._keeps_triple(row)],
            [row for row in literals if self._keeps_literal(row)],
            removed,
        )

    def _keeps_triple(self, row: Triple) -> bool:
        return self.keeps_predicate(row[1]) and (
            not self._namespaces
            or (row[0].startswith(self._namespaces) and row[2].startswith(self._namespaces))
        )

    def _keeps_literal(self, row: Triple) -> bool:
        return (
            self.keeps_predicate(row[1])
            and (not self._namespaces or row[0].startswith(self._namespaces))
            and (not self._languages or self._keeps_suffix(row[2][row[2].rindex('"') + 1 :]))
        )

    def _wants_predicate(self, name: str) -> bool:
        choice = self._choice
        return _is_among(name, choice.predicates, True) and not _is_among(
            name, choice.not_predicates, False
        )

    def _wants_suffix(self, suffix: str) -> bool:
        """What stands behind the quotation marks of a literal tells its language."""
        language = suffix[1:].partition("--")[0] if suffix.startswith("@") else ""
        return language in self._languages or language.partition("-")[0] in self._languages


def _is_among(name: str, rules: tuple[str, ...], if_none: bool) -> bool:
    if not rules:
        return if_none
    return any(
        name.startswith(rule.removesuffix("*")) if rule.endswith(("/", "#", "*")) else name == rule
        for rule in rules
    )


def _remembered(decide: Callable[[str], bool], most: int = 100_000) -> Callable[[str], bool]:
    known: dict[str, bool] = {}

    def decided(name: str) -> bool:
        if name not in known:
            if len(known) == most:
                known.clear()
            known[name] = decide(name)
        return known[name]

    return decided
