"""Writes the API reference from `everalign.__all__`, so that no public name can be forgotten.

The page that holds the marker gets one mkdocstrings section for each public name.
"""

from __future__ import annotations

from mkdocs.structure.pages import Page

import everalign

MARKER = "<!-- generated: api -->"


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Replace the marker by a mkdocstrings directive for each public name."""
    if MARKER not in markdown:
        return markdown
    directives = (f"::: {everalign.__name__}.{name}" for name in everalign.__all__)
    return markdown.replace(MARKER, "\n\n".join(directives))
