"""Builds the site of the documentation, and looks where its links lead.

    python -m tools.docs_site

Sphinx is in an environment of its own (`.cache/docs-tools`), installed once for
requirements/docs.txt. A warning is an error. Every link inside the site must lead to a page that is
there, and to an anchor that is on it; links to elsewhere are not followed. Where no package
registry can be reached, a line says so; only CI stops for that.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

from tools.package import ROOT, PackageError, run, tools_of

SITE = ROOT / "build" / "docs"
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_FORWARD = (
    '<!doctype html><meta charset="utf-8"><title>pytest-mcp-approval</title>'
    '<meta http-equiv="refresh" content="0; url=docs/index.html">'
    '<a href="docs/index.html">pytest-mcp-approval</a>\n'
)
_SEARCH = ("search.html", "genindex.html")


def main() -> int:
    try:
        programs = tools_of("docs", say)
        if programs is None:
            return 0
        say("building the site with Sphinx")
        shutil.rmtree(SITE, ignore_errors=True)  # a page that is gone must not stay
        python = str(programs / "python")
        build = (
            "-m",
            "sphinx",
            "--fail-on-warning",
            "--keep-going",
            "--quiet",
            "--builder",
            "html",
        )
        settings = ("--conf-dir", str(ROOT / "docs"))
        run(python, *build, "--jobs", "2", *settings, str(ROOT), str(SITE), cwd=ROOT)
        # The first page is among the others; a site begins at its root.
        (SITE / "index.html").write_text(_FORWARD, encoding="utf-8")
    except PackageError as error:
        print(f"docs: {error}", file=sys.stderr)
        return 1
    lost = broken_links(SITE)
    if lost:
        print("docs: links that lead nowhere:", *lost, sep="\n  ", file=sys.stderr)
        return 1
    pages = len(list(SITE.rglob("*.html")))
    say(f"{pages} pages in {SITE.relative_to(ROOT)}, and every link between them leads somewhere")
    return 0


def say(line: str) -> None:
    print(f"docs: {line}", flush=True)


class _Page(HTMLParser):
    """The links of a page, and what can be linked to on it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        self.links += [given[name] for name in ("href", "src") if given.get(name)]


def broken_links(site: Path) -> list[str]:
    """Each link inside the site whose page or anchor is missing, with the page it is on."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    return sorted(
        {
            f"{path.relative_to(site)}: {link}"
            for path, page in pages.items()
            if path.name not in _SEARCH
            for link in page.links
            if not _leads_somewhere(link, path, pages)
        }
    )


def _leads_somewhere(link: str, path: Path, pages: dict[Path, _Page]) -> bool:
    if _ELSEWHERE.match(link):
        return True
    place, anchor = urldefrag(link)
    name = unquote(place.partition("?")[0])
    target = (path.parent / name).resolve() if name else path
    if target in pages:
        return _has(pages[target].anchors, anchor)
    return target.exists()


def _has(anchors: Iterable[str], anchor: str) -> bool:
    return anchor in anchors or unquote(anchor) in anchors


if __name__ == "__main__":
    sys.exit(main())
