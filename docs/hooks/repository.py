"""Makes links from a page to files outside of docs/ work on the site.

On GitHub such a link leads to the file in the repository. The site has no repository beside it,
so every file that is linked to becomes part of the site: Markdown files of the root as pages of
the navigation, Python files as pages with highlighted code, others as they are.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

LINK = re.compile(r"(\]\(|\]: )((?:\.\./)+[^)\s#]+)")
CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
# Pages of the site that are kept in the root of the repository, where GitHub looks for them.
ROOT_PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
# The site has an opening page of its own.
SAME_AS = {"README.md": "index.md", "docs": "index.md"}
FOLDER = "source"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root, and every file outside of docs/ that a page links to."""
    root = Path(config.docs_dir).parent
    for name, uri in ROOT_PAGES.items():
        text = (root / name).read_text(encoding="utf-8")
        files.append(File.generated(config, uri, content=_from_root(text)))
    for page in list(files.documentation_pages()):
        for _, target in LINK.findall(page.content_string):
            path = _outside(page.src_uri, target)
            if path is not None and not files.get_file_from_path(_on_site(root, path)):
                _add(files, config, root, path)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: object) -> str:
    """Point links that leave docs/ at the copies on the site."""
    root = Path(config.docs_dir).parent
    here = posixpath.dirname(page.file.src_uri)

    def replace(match: re.Match[str]) -> str:
        path = _outside(page.file.src_uri, match[2])
        if path is None:
            return match[0]
        return match[1] + posixpath.relpath(_on_site(root, path), here or ".")

    return "".join(
        part if index % 2 else LINK.sub(replace, part)
        for index, part in enumerate(CODE.split(markdown))
    )


def _outside(page: str, target: str) -> str | None:
    """Resolve a link of a page; the path from the root, if it leaves docs/."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    return None if path.startswith("docs/") else path


def _on_site(root: Path, path: str) -> str:
    """Say which file of the site stands for a file of the repository."""
    if path in ROOT_PAGES or path in SAME_AS:
        return ROOT_PAGES.get(path) or SAME_AS[path]
    if (root / path).is_dir():
        return f"{FOLDER}/{path}/index.md"
    return f"{FOLDER}/{path}.md" if path.endswith(".py") else f"{FOLDER}/{path}"


def _add(files: Files, config: MkDocsConfig, root: Path, path: str) -> None:
    there, name = root / path, _on_site(root, path)
    level = InclusionLevel.NOT_IN_NAV
    if there.is_dir():
        parts = sorted(part for part in there.iterdir() if part.is_file())
        for part in parts:
            _add(files, config, root, f"{path}/{part.name}")
        content = _page(path, "\n".join(f"- [{part.name}]({_shown(part)})" for part in parts))
        files.append(File.generated(config, name, content=content, inclusion=level))
    elif there.suffix == ".py":
        code = there.read_text(encoding="utf-8")
        content = _page(path, f"````python\n{code}````")
        files.append(File.generated(config, name, content=content, inclusion=level))
    elif not files.get_file_from_path(name):
        files.append(File.generated(config, name, abs_src_path=str(there), inclusion=level))


def _shown(part: Path) -> str:
    return f"{part.name}.md" if part.suffix == ".py" else part.name


def _page(path: str, body: str) -> str:
    """A page that search leaves out: it would bury the documentation."""
    title = PurePosixPath(path).name
    return f"---\ntitle: {title}\nsearch:\n  exclude: true\n---\n\n# `{path}`\n\n{body}\n"


def _from_root(text: str) -> str:
    """Rewrite the links of a page of the root as if it lay in docs/."""

    def replace(match: re.Match[str]) -> str:
        return f"]({posixpath.relpath(match[1], 'docs')}{match[2] or ''})"

    return re.sub(r"\]\((?!\w+:)([^)\s#]+)(#[^)\s]*)?\)", replace, text)
