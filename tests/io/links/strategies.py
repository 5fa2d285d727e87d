"""Hypothesis strategies for links whose names are hard to write."""

from __future__ import annotations

from hypothesis import strategies as st

from everalign.io.links import LinkRow

# All that an IRI may hold, with a weight on what formats give a meaning of their own.
_TRICKY = "'%&;:#?=@!$*+,./()[]~-_\u00a0\u0085\u2028\u3000\ufeff\u200d\U0001f600é本"
_ALLOWED = st.characters(
    min_codepoint=0x21, exclude_characters='<>"{}|^`\\\ufffe\uffff', codec="utf-8"
)
_PIECE = st.one_of(
    _ALLOWED,
    st.sampled_from(_TRICKY),
    st.sampled_from(["%20", "%", "%zz", "//", "..", "a" * 3000]),
)
BEGINNINGS = {"a": "http://a.org/", "ab": "http://a.org/b/", "u": "urn:x:", "h": "http://a.org/#"}
# The letter keeps what follows from being empty, or from beginning with "//".
IRIS = st.builds(
    lambda beginning, pieces: f"{beginning}x{''.join(pieces)}",
    st.sampled_from(sorted(BEGINNINGS.values())),
    st.lists(_PIECE, max_size=8),
)
SCORES = st.floats(0, 1)
ROWS = st.builds(
    LinkRow, IRIS, IRIS, SCORES, st.integers(0, 9), st.sampled_from(["given", "found"])
)
LINKS = st.lists(ROWS, min_size=1, max_size=6)

NAMES = st.text(
    st.characters(exclude_characters="\t\n\r\ufeff", codec="utf-8"), min_size=1, max_size=20
).filter(lambda name: not name.startswith(("<", "#", "subject_id")) and name.strip(" ") != "")
NAMED_LINKS = st.lists(
    st.builds(LinkRow, NAMES, NAMES, SCORES, st.integers(0, 9)), min_size=1, max_size=6
)
