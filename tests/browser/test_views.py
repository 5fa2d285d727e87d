"""Every view, on a wide and a narrow screen, light and dark."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from tests.browser.conftest import OpenWindow, Window

pytestmark = pytest.mark.slow

OVERFLOW = """() => {
  const root = document.documentElement;
  if (root.scrollWidth <= innerWidth) return [];
  const wide = [...document.querySelectorAll("body *")].filter(
    (element) => element.getBoundingClientRect().right > innerWidth + 1);
  return wide.map((element) => element.outerHTML.slice(0, 120));
}"""
VIOLATIONS = """() => axe.run().then(({ violations }) => violations.map(
  ({ id, nodes }) => `${id}: ${nodes[0].html} ${nodes[0].failureSummary}`))"""


def list_addresses(window: Window) -> list[str]:
    """List the addresses of all views, with a link, an entity and a pair of relations."""
    link = window.read("/links?state=found&limit=1")["links"][0]
    left, right = (quote(link[side]["name"], safe="") for side in ("left", "right"))
    relation = window.read("/relations")["relations"][0]
    names = [quote(relation[side]["name"], safe="") for side in ("left", "right")]
    inverse = str(relation["inverse"]).lower()
    return [
        "/",
        "/overview",
        "/links?text=a",
        f"/link?left={left}&right={right}",
        f"/entity?side=left&name={left}",
        "/unmatched?side=right",
        "/corrections",
        f"/relations?left={names[0]}&right={names[1]}&inverse={inverse}",
        "/activity",
        "/nothing",
    ]


def wait_until_loaded(window: Window) -> None:
    for text in window.page.locator("main").get_by_text("Loading …").all():
        text.wait_for(state="hidden")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_no_view_overflows_or_has_obstacles(
    open_window: OpenWindow, axe: str, tmp_path: Path, width: int, colours: str
) -> None:
    window = open_window(width, 800, colours)
    for address in list_addresses(window):
        window.open(address)
        wait_until_loaded(window)
        if address == "/":
            window.page.wait_for_selector(".question")
            window.press("e")
        name = address.partition("?")[0].strip("/") or "review"
        window.page.screenshot(path=tmp_path / f"{name}-{width}-{colours}.png", full_page=True)
        assert window.page.evaluate(OVERFLOW) == [], address
        window.page.evaluate(axe)
        assert window.page.evaluate(VIOLATIONS) == [], address
        assert window.page.locator("main .problem").count() == 0, address


def test_dialogs_have_no_obstacles(open_window: OpenWindow, axe: str) -> None:
    window = open_window(360, 740)
    window.open("/overview")
    for open_dialog in ("?", "/"):
        window.page.focus("#heading")
        window.press(open_dialog)
        window.page.wait_for_selector("dialog[open]")
        window.page.evaluate(axe)
        assert window.page.evaluate(VIOLATIONS) == []
        assert window.page.evaluate(OVERFLOW) == []
        window.press("Escape")
        window.page.locator("dialog").wait_for(state="detached")


def test_the_colours_can_be_switched(open_window: OpenWindow) -> None:
    window = open_window(colours="dark")
    window.open("/overview")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = window.page.evaluate(background)
    window.page.click("[aria-label='Light or dark']")
    assert window.page.evaluate(background) == "rgb(255, 255, 255)" != dark
    window.open("/overview")
    assert window.page.evaluate(background) == "rgb(255, 255, 255)"


@pytest.mark.parametrize(
    ("text", "language", "direction"),
    [
        ("杭州市", "zh", "ltr"),
        ("東京タワー", "ja", "ltr"),
        ("الإسكندرية", "ar", "rtl"),
        ("😀", "en", "ltr"),
        ("<script>", "en", "ltr"),
    ],
)
def test_labels_in_any_script(
    open_window: OpenWindow, text: str, language: str, direction: str
) -> None:
    window = open_window()
    window.open(f"/links?text={quote(text)}")
    label = window.page.locator(f"td bdi:has-text('{text}')").first
    label.wait_for()
    assert text in label.inner_text()
    assert label.get_attribute("lang") == language
    assert label.get_attribute("dir") == direction
    assert label.evaluate("(element) => element.children.length") == 0
    assert window.page.title().startswith("Links")


def test_filters_are_in_the_address(open_window: OpenWindow) -> None:
    window = open_window()
    window.open("/links")
    window.page.wait_for_selector("table.list")
    window.page.select_option("label:has-text('State') select", "found")
    window.page.fill("#filter-min_confidence", "0.5")
    window.page.wait_for_url("**/links?state=found&min_confidence=0.5")
    window.page.reload()
    window.page.wait_for_selector("table.list")
    assert window.page.input_value("#filter-min_confidence") == "0.5"
    wanted = window.read("/links?state=found&min_confidence=0.5")["count"]
    assert f"{wanted:,} links" in window.page.inner_text("main [role=status]")
    window.page.go_back()
    window.page.wait_for_url("**/links")


def test_bulk_acceptance_needs_a_look_at_a_sample(open_window: OpenWindow) -> None:
    window = open_window()
    window.open("/links?state=proposed")
    window.page.click("text=Accept them all")
    lines = window.page.locator(".sample li")
    lines.first.wait_for()
    accept = window.page.locator("dialog button.main")
    for line in lines.all():
        assert accept.is_disabled()
        line.get_by_role("button", name="Right").click()
    lines.first.get_by_role("button", name="Wrong").click()
    accept.click()
    window.page.locator("dialog").wait_for(state="detached")
    recorded = window.read("/activity?limit=200")["recorded"]
    kinds = [decision["kind"] for decision in recorded]
    assert kinds.count("rejected") == 1
    assert "sample" in recorded[0]["comment"]


def test_iris_open_only_if_a_browser_may(open_window: OpenWindow) -> None:
    window = open_window()
    window.open("/unmatched")
    window.page.wait_for_selector("a.iri")
    for link in window.page.locator("a.iri").all():
        assert (link.get_attribute("href") or "").startswith(("http://", "https://"))
        assert link.get_attribute("rel") == "noopener noreferrer"


def test_a_pair_can_be_judged_where_it_is_explained(open_window: OpenWindow) -> None:
    window = open_window()
    link = window.read("/links?state=found&limit=5")["links"][4]
    left, right = (quote(link[side]["name"], safe="") for side in ("left", "right"))
    window.open(f"/link?left={left}&right={right}")
    window.page.click("button:has-text('Different')")
    window.page.wait_for_selector("text=counts in the next version")
    window.page.wait_for_timeout(500)
    history = window.read(f"/link?left={left}&right={right}")["history"]
    assert (history[-1]["kind"], history[-1]["waiting"]) == ("rejected", True)
    window.page.click("button:has-text('Undo')")
