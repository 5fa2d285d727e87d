"""Questions are answered with keys, and no answer is lost."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from tests.browser.conftest import OpenWindow, Served, Window

from everalign import Aligner, ChangeSet

pytestmark = pytest.mark.slow

# Notes how long it takes from a key press until the next question has been drawn.
MEASURE = """() => {
  window.delays = [];
  const read = () => document.querySelector(".question #heading + a, .question #heading + span")
    ?.closest(".question")?.querySelector(".subject")?.textContent;
  addEventListener("keydown", () => {
    const start = performance.now();
    const before = read();
    const observer = new MutationObserver(() => {
      if (read() === undefined || read() === before) return;
      observer.disconnect();
      requestAnimationFrame(() => window.delays.push(performance.now() - start));
    });
    observer.observe(document.body, { subtree: true, childList: true, characterData: true });
  }, true);
}"""


def open_questions(window: Window, author: str) -> None:
    window.open("/")
    window.page.wait_for_selector(".question")
    if window.page.locator("form.note input").count():
        window.page.fill("form.note input", author)
        window.page.press("form.note input", "Enter")
    window.page.focus("#heading")


def read_subject(window: Window) -> str:
    return str(window.page.inner_text(".subject"))


def wait_until_sent(window: Window) -> None:
    """Wait until no answer is on its way."""
    window.page.wait_for_selector(".saved:empty", state="attached")


def read_decisions(window: Window, author: str) -> list[dict[str, Any]]:
    """Read what is recorded of an author, oldest first."""
    recorded = window.read(f"/activity?author={author}&limit=200")["recorded"]
    return list(reversed(recorded))


def test_twenty_answers_by_keyboard(open_window: OpenWindow) -> None:
    window = open_window()
    open_questions(window, "Ada")
    window.page.evaluate(MEASURE)
    keys = ["1", "a", "x", "0", "s", "n", "1", "a", "x", "0"] * 2
    for count, key in enumerate(keys, 1):
        before = read_subject(window)
        window.press(key)
        window.page.wait_for_timeout(80)  # as fast as a person can be
        assert read_subject(window) != before
        assert f"{count} of 100" in window.page.inner_text(".progress")
    wait_until_sent(window)
    recorded = read_decisions(window, "Ada")
    kinds = [decision["kind"] for decision in recorded]
    assert kinds.count("confirmed") == 8
    assert kinds.count("no counterpart") == 2
    assert kinds.count("rejected") >= 8
    assert "unsure" in kinds
    delays = sorted(window.page.evaluate("window.delays"))
    assert len(delays) == len(keys)
    assert delays[len(delays) // 2] < 50
    assert window.page.evaluate("document.activeElement.id") == "heading"


def test_later_undo_and_change(open_window: OpenWindow) -> None:
    window = open_window()
    open_questions(window, "Bo")
    first = read_subject(window)
    window.press(" ")
    second = read_subject(window)
    assert second != first
    window.press("1")
    wait_until_sent(window)
    window.press("u")
    assert read_subject(window) == second
    wait_until_sent(window)
    assert [row["kind"] for row in read_decisions(window, "Bo")] == ["confirmed", "withdrawn"]
    window.press("n")
    third = read_subject(window)
    window.press("Backspace")
    assert read_subject(window) == second
    window.press("n")
    assert read_subject(window) == third
    wait_until_sent(window)

    window.page.click("summary:has-text('Last answers')")
    window.page.click(".answers li:first-child button")
    assert read_subject(window) == second
    assert "no counterpart" in window.page.inner_text(".question .note")
    window.press("s")
    assert read_subject(window) == third
    assert "not sure" in window.page.inner_text(".answers li:first-child")
    wait_until_sent(window)
    kinds = [row["kind"] for row in read_decisions(window, "Bo")]
    assert "unsure" in kinds
    assert kinds.count("no counterpart") == kinds.count("withdrawn") - 1


def test_offline_and_back(open_window: OpenWindow) -> None:
    window = open_window()
    open_questions(window, "Cy")
    window.page.wait_for_timeout(300)  # more questions are fetched meanwhile
    window.context.set_offline(True)
    for key in ("1", "n", "1", "u"):
        before = read_subject(window)
        window.press(key)
        assert read_subject(window) != before
    window.page.wait_for_selector("text=2 answers not sent yet")
    assert "cannot be reached" in window.page.inner_text(".news")
    assert read_decisions_offline(window) == 2
    window.complaints.clear()  # the browser tells of requests that failed
    window.context.set_offline(False)
    wait_until_sent(window)
    window.page.locator(".news .note").wait_for(state="hidden")
    kinds = [row["kind"] for row in read_decisions(window, "Cy")]
    assert kinds == ["confirmed", "no counterpart"]
    assert read_decisions_offline(window) == 0
    window.complaints.clear()


def read_decisions_offline(window: Window) -> int:
    """Count the answers that the browser holds."""
    script = "Object.keys(localStorage).filter((name) => name.includes('/outbox/')).length"
    return int(window.page.evaluate(script))


def test_answers_survive_a_closed_window(open_window: OpenWindow) -> None:
    window = open_window()
    open_questions(window, "Di")
    window.context.route("**/api/v1/decisions", lambda route: route.abort())
    window.press("n")
    window.page.wait_for_selector("text=1 answer not sent yet")
    window.page.close()
    window.complaints.clear()
    window.context.unroute("**/api/v1/decisions")
    window.page = window.context.new_page()
    window.open("/")
    window.page.wait_for_selector(".question")
    wait_until_sent(window)
    assert [row["kind"] for row in read_decisions(window, "Di")] == ["no counterpart"]


def test_comment_search_evidence_and_scores(open_window: OpenWindow) -> None:
    window = open_window()
    open_questions(window, "Ed")
    window.press("c")
    window.page.keyboard.type("a 1 x 0")  # keys in a field are text
    window.press("Enter")
    window.press("e")
    assert window.page.locator(".evidence svg[role=img]").count() >= 1
    window.press("h")
    assert window.page.locator(".confidence, .evidence svg").count() == 0
    window.press("/")
    window.page.locator("dialog input").fill("a")
    window.page.wait_for_selector(".results button")
    label = window.page.inner_text(".results li:nth-child(2) bdi")
    before = read_subject(window)
    window.press("ArrowDown", "Enter")
    assert read_subject(window) != before
    wait_until_sent(window)
    (decision,) = read_decisions(window, "Ed")
    assert decision["comment"] == "a 1 x 0"
    # The last part of the IRI stands for an entity without a name.
    assert any(decision[side]["label"].endswith(label) for side in ("left", "right"))


def test_keys_can_be_chosen(open_window: OpenWindow) -> None:
    window = open_window()
    open_questions(window, "Flo")
    window.press("?")
    window.page.click("[aria-label='Change the key: Not sure']")
    window.page.wait_for_selector("text=Press a key")
    window.press("y")
    window.page.wait_for_selector("dialog tr:has-text('Not sure') kbd:text-is('y')")
    window.press("Escape")
    window.page.locator("dialog").wait_for(state="detached")
    before = read_subject(window)
    window.press("s")
    assert read_subject(window) == before
    window.press("y")
    assert read_subject(window) != before
    window.open("/")
    window.page.wait_for_selector(".question")
    assert window.page.inner_text(".actions button:has-text('Not sure') kbd") == "y"


def test_waterfall_adds_up(open_window: OpenWindow) -> None:
    window = open_window()
    for question in window.read("/questions?limit=20")["questions"]:
        for candidate in question["candidates"]:
            if candidate["contributions"]:
                total = sum(part["value"] for part in candidate["contributions"])
                assert total == pytest.approx(candidate["confidence"], abs=1e-6)


def test_an_entity_that_was_removed_underneath(open_window: OpenWindow, served: Served) -> None:
    window = open_window()
    open_questions(window, "Hal")
    subject = read_subject(window)
    name = window.page.get_attribute(".subject a.iri", "title")
    side = "left" if "Left" in window.page.inner_text(".ask") else "right"
    removed = {f"removed_{side}_entities": [name]}
    change = ChangeSet(**removed)
    version = Aligner.open(served.state).update(change=change).reports[-1].version
    window.page.wait_for_selector(f"text=Version {version} is ready")
    assert read_subject(window) == subject
    window.press("n")
    wait_until_sent(window)
    window.page.click("summary:has-text('Last answers')")
    assert "was removed from its graph" in window.page.inner_text(".answers li:first-child")
    # Its own address says so too.
    window.open(f"/entity?side={side}&name={quote(str(name), safe='')}")
    window.page.wait_for_selector("main .problem:has-text('removed')")
    window.complaints.clear()  # the browser tells of the 404


@pytest.mark.timeout(600)
def test_an_update_leaves_the_question_where_it_is(
    open_window: OpenWindow, served: Served
) -> None:
    window = open_window()
    open_questions(window, "Gus")
    window.press("n")
    wait_until_sent(window)
    version = window.read("/session")["version"]
    subject = read_subject(window)
    window.page.click("header button:has-text('Update')")
    window.page.click("summary:has-text('New facts')")
    window.page.fill("dialog label:has-text('added to the left') input", "batch1_1.nt")
    window.page.fill("dialog label:has-text('added to the right') input", "batch1_2.nt")
    window.page.click("text=Start the update")
    window.page.wait_for_selector(".update progress")
    window.page.wait_for_selector(f"text=Version {version + 1} is ready", timeout=300_000)
    assert read_subject(window) == subject
    assert f"version {version}" in window.page.inner_text("header")
    window.page.click("text=Show it")
    assert f"version {version + 1}" in window.page.inner_text("header")
    assert read_subject(window) == subject
    window.page.focus("#heading")
    window.press("n")
    assert read_subject(window) != subject
    wait_until_sent(window)
