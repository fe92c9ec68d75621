#!/usr/bin/env python3
"""Builds the pages into site/ (`make docs`), and checks every link and anchor of the result.

With --look each page is opened in Chromium at two widths, in light and dark: none may be wider
than its window, load anything from outside, or complain. --pictures DIR keeps what was seen.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
DOCS, SITE = ROOT / "docs", ROOT / "site"
START = "docs/README.html"
LINK = re.compile(r"\]\(([^)\s]+)\)")
WIDTHS = (1300, 400)
CUT = """[...document.querySelectorAll('.table-wrapper')].some(
    table => table.scrollWidth > table.clientWidth + 1)"""
REDIRECT = f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Sluice</title>
<meta http-equiv="refresh" content="0; url={START}"><a href="{START}">Sluice</a></html>
"""


def links(page: Path) -> list[Path]:
    """The files of the repository that a page links to, outside of code."""
    prose = "".join(page.read_text(encoding="utf-8").split("```")[::2])
    targets = [unquote(link.split("#")[0]) for link in LINK.findall(prose) if "://" not in link]
    return [(page.parent / target).resolve() for target in targets if target]


def contents() -> str:
    """The contents with their paths in docs; under a page those in the folder of its name."""
    lines = []
    for line in (DOCS / "SUMMARY.md").read_text(encoding="utf-8").splitlines():
        lines.append(line)
        link = LINK.search(line)
        folder = (DOCS / link[1]).with_suffix("") if link else DOCS
        if link and folder != DOCS and folder.is_dir():
            for page in sorted(folder.glob("*.md")):
                title = page.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
                lines.append(f"    - [{title}]({page.relative_to(DOCS)})")
    return "\n".join(lines) + "\n"


def stage(folder: Path) -> None:
    """A copy of the pages and of what they link to, with the paths of the repository."""
    pages = [(DOCS / link).resolve() for link in LINK.findall(contents())]
    files = set(pages).union(*map(links, pages))
    for path in files:
        to = folder / "src" / path.relative_to(ROOT)
        to.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.copytree(path, to, dirs_exist_ok=True)
        elif path in pages:
            # mdBook draws no diagrams: their source is legible.
            text = path.read_text(encoding="utf-8").replace("```mermaid", "```text")
            to.write_text(text, encoding="utf-8")
        else:
            shutil.copyfile(path, to)
    from_root = LINK.sub(lambda link: f"]({name_of(link[1])})", contents())
    (folder / "src" / "SUMMARY.md").write_text(from_root, encoding="utf-8")
    for name in ("book.toml", "site.css"):
        shutil.copyfile(DOCS / name, folder / name)


def name_of(link: str) -> str:
    return str((DOCS / link).resolve().relative_to(ROOT))


class Page(HTMLParser):
    """The anchors of a built page, and the links of its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            if name in ("href", "src") and value and tag in ("a", "img"):
                self.links.append(value)


def broken(site: Path) -> list[str]:
    """Links of built pages that lead to no file, or to no anchor of a page."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        if path.name in ("print.html", "404.html", "toc.html"):
            continue
        for link in page.links:
            url = urlsplit(link)
            if url.scheme or url.netloc:
                continue
            to = (path.parent / unquote(url.path)).resolve() if url.path else path
            anchor = unquote(url.fragment)
            if not to.exists() or anchor and to in pages and anchor not in pages[to].anchors:
                found.append(f"{path.relative_to(site)}: {link}")
    return found


def look(site: Path, pictures: Path | None) -> list[str]:
    """What is wrong with a page in a browser."""
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    from browser import Browser

    found = []
    names = [f"{Path(name_of(link)).with_suffix('.html')}" for link in LINK.findall(contents())]
    with Browser() as browser:
        for name in names:
            for width in WIDTHS:
                for dark in (False, True):
                    browser.open(site / name, width, 900, dark)
                    wide = browser.evaluate("document.documentElement.scrollWidth")
                    outside = [url for url in browser.requests
                               if not url.startswith(("data:", "file:"))]
                    wrong = [f"{wide} pixels wide"] if wide > width else []
                    if width == max(WIDTHS) and browser.evaluate(CUT):
                        wrong.append("a table is wider than its column")
                    wrong += outside + browser.messages
                    shade = "dark" if dark else "light"
                    found += [f"{name} at {width} in {shade}: {what}" for what in wrong]
                    if pictures:
                        pictures.mkdir(parents=True, exist_ok=True)
                        page = str(Path(name).with_suffix("")).replace("/", "-")
                        to = f"{page}-{width}-{shade}.png"
                        (pictures / to).write_bytes(browser.screenshot())
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mdbook", type=Path, help="the program, as scripts/mdbook prints it")
    parser.add_argument("--look", action="store_true", help="open each page in Chromium")
    parser.add_argument("--pictures", type=Path, metavar="DIR", help="keep what --look sees")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sluice-site-") as folder:
        stage(Path(folder))
        shutil.rmtree(SITE, ignore_errors=True)
        subprocess.run([options.mdbook, "build", "--dest-dir", SITE, folder], check=True)
    (SITE / "index.html").write_text(REDIRECT, encoding="utf-8")
    found = [f"leads nowhere: {link}" for link in broken(SITE)]
    if options.look or options.pictures:
        found += look(SITE, options.pictures)
    print("\n".join(found or [f"wrote {SITE.relative_to(ROOT)}/index.html"]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
