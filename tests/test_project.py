"""What the project says of itself fits together: versions, make targets, forms."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import everalign

ROOT = Path(__file__).parents[1]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
WORKFLOW = ROOT / ".github" / "workflows" / "test.yml"
TARGET = re.compile(r"^([a-z][a-z-]*):(.*)$", re.MULTILINE)
MAKE = re.compile(r"\bmake ([a-z][a-z-]*)")


def read_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def read_project() -> dict[str, Any]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project: dict[str, Any] = tomllib.loads(text)["project"]
    return project


def make_targets() -> dict[str, str]:
    """Each target of the Makefile with the rest of its line."""
    return dict(TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")))


def test_one_version_everywhere() -> None:
    version = read_project()["version"]
    assert everalign.__version__ == version
    assert read_yaml(ROOT / "CITATION.cff")["version"] == version


def test_the_citation_names_the_licence_and_the_paper() -> None:
    citation = read_yaml(ROOT / "CITATION.cff")
    assert citation["type"] == "software"
    assert citation["license"] == read_project()["license"]
    paper = citation["references"][0]
    assert (paper["authors"][0]["family-names"], paper["year"]) == ("Wang", 2022)


def test_addresses_lead_to_one_repository() -> None:
    urls = read_project()["urls"]
    assert set(urls) == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    home = read_yaml(ROOT / "CITATION.cff")["repository-code"]
    assert urls["Source"] == home
    assert urls["Issues"] == f"{home}/issues"


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_issue_forms_have_what_github_needs(form: Path) -> None:
    content = read_yaml(form)
    assert content["name"]
    assert content["description"]
    fields = [entry["id"] for entry in content["body"] if entry["type"] != "markdown"]
    assert len(fields) == len(set(fields)) > 0
    assert all(entry["attributes"]["label"] for entry in content["body"])


def test_there_is_a_form_for_each_kind_of_issue() -> None:
    assert {form.stem for form in FORMS} == {"bug_report", "feature_request", "data_question"}


def test_the_workflow_calls_make_targets_that_exist() -> None:
    jobs = read_yaml(WORKFLOW)["jobs"]
    commands = " ".join(step.get("run", "") for job in jobs.values() for step in job["steps"])
    called = set(MAKE.findall(commands))
    assert {"test", "test-fast", "docs", "wheel"} <= called
    assert called <= set(make_targets())


def test_the_workflow_tests_the_versions_that_the_package_names() -> None:
    versions = read_yaml(WORKFLOW)["jobs"]["test"]["strategy"]["matrix"]["python"]
    prefix = "Programming Language :: Python :: 3."
    named = [entry for entry in read_project()["classifiers"] if entry.startswith(prefix)]
    assert [f"Programming Language :: Python :: {version}" for version in versions] == named


def test_hooks_run_the_checks_of_make_test_and_download_nothing() -> None:
    repositories = read_yaml(ROOT / ".pre-commit-config.yaml")["repos"]
    assert [entry["repo"] for entry in repositories] == ["local"]
    hooks = repositories[0]["hooks"]
    assert {hook["language"] for hook in hooks} == {"system"}
    targets = [hook["entry"].removeprefix("make ") for hook in hooks]
    assert targets == ["lint", "types", "imports", "test-fast"]
    assert set(targets[:3]) < set(make_targets()["test"].partition("##")[0].split())


def test_every_make_target_is_explained() -> None:
    assert all("##" in rest for rest in make_targets().values())


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_help_lists_every_target() -> None:
    # Under `make test` a second make would print the directories that it enters and leaves.
    command = ["make", "--no-print-directory", "help"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert {line.split()[0] for line in run.stdout.splitlines()} == set(make_targets())
