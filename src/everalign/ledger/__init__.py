"""Candidates → decided links: pure rules, and a record of events that only grows.

`decide` says which links are in force from now on, `changes` writes down what that changes,
and `fold` reads the links in force back from all that was ever written down. A person's word
(`confirm`, `reject`) outranks a method's in each of them.
"""

from __future__ import annotations

from everalign.ledger.events import Event, Kind, Why, changes
from everalign.ledger.links import Link, Pair
from everalign.ledger.review import confirm, reject, withdraw
from everalign.ledger.rules import RULES, Rule, decide, latest, paper, strict
from everalign.ledger.view import Standing, View, fold

__all__ = [
    "RULES",
    "Event",
    "Kind",
    "Link",
    "Pair",
    "Rule",
    "Standing",
    "View",
    "Why",
    "changes",
    "confirm",
    "decide",
    "fold",
    "latest",
    "paper",
    "reject",
    "strict",
    "withdraw",
]
