"""Shows the examples in docstrings as code, wherever in a docstring they are.

Google style knows examples only in a section of their own; elsewhere `>>>` would be read as a
quotation of a quotation.
"""

from __future__ import annotations

import re

from griffe import Extension, Object

# An example with its output: from the prompt to the next blank line, with its indentation.
EXAMPLE = re.compile(r"^(?P<indent>[ ]*)>>> .*(?:\n[ ]*\S.*)*", re.MULTILINE)


class FenceDoctests(Extension):
    """Puts each example into a fenced block."""

    def on_object(self, *, obj: Object, **_: object) -> None:
        """Rewrite the docstring of an object before it is parsed."""
        if obj.docstring is not None:
            obj.docstring.value = fence_examples(obj.docstring.value)


def fence_examples(docstring: str) -> str:
    """Fence the examples of a docstring.

    >>> fence_examples("One.\\n\\n>>> 1 + 1\\n2").splitlines()[2:]
    ['```pycon', '>>> 1 + 1', '2', '```']
    """
    return EXAMPLE.sub(r"\g<indent>```pycon\n\g<0>\n\g<indent>```", docstring)
