"""Every link of the documentation leads somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]

_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def links(page: Path) -> Iterator[str]:
    """The targets of a page's links within the project."""
    text = _CODE.sub("", page.read_text("utf-8"))
    for target in _LINK.findall(text):
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as GitHub and MyST make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {
        re.sub(r"[^\w\- ]", "", heading.replace("`", "")).strip().lower().replace(" ", "-")
        for heading in _HEADING.findall(text)
    }


def broken(page: Path) -> Iterator[str]:
    """The links of a page that lead nowhere."""
    for target in links(page):
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        if not found.exists():
            yield f"{target}: there is no {path}"
        elif anchor and found.suffix == ".md" and anchor not in anchors(found):
            yield f"{target}: there is no such heading in {found.name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_links_of_the_page_lead_somewhere(page: Path) -> None:
    assert list(broken(page)) == []


def test_every_page_can_be_reached_from_the_first() -> None:
    reached, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md" and page.is_file():
            reached.add(page)
            waiting += [(page.parent / link.partition("#")[0]).resolve() for link in links(page) if link[0] != "#"]

    assert [page.relative_to(ROOT).as_posix() for page in PAGES if page not in reached] == []


def test_a_link_that_leads_nowhere_is_caught(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Um título\n\n[a](#um-título) [b](other.md) [c](#none) `[d](code.md)`\n", "utf-8")

    assert [told.partition(":")[0] for told in broken(page)] == ["other.md", "#none"]
