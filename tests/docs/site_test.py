#!/usr/bin/env python3
"""Checks the documentation site: site_test.py HTML FILE...

Links lead to files and anchors that exist, except one kind that Doxygen itself breaks; nothing is loaded from a network; there are a
tree, a search, and each FILE.
"""
import collections
import html.parser
import pathlib
import sys
import urllib.parse

SITE = pathlib.Path(sys.argv[1]).resolve()


class Page(html.parser.HTMLParser):
    """The links, the pictures and scripts, and the anchors of a page."""

    def __init__(self, file):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        names = dict(attrs)
        self.anchors |= {names[name] for name in ("id", "name") if names.get(name)}
        if tag == "a" and names.get("href"):
            self.links.append(names["href"])
        elif tag in ("img", "script", "iframe") and names.get("src"):
            self.loaded.append(names["src"])
        elif tag == "link" and names.get("href"):
            self.loaded.append(names["href"])
        elif tag == "object" and names.get("data"):
            self.loaded.append(names["data"])


def main():
    pages = {file.name: Page(file) for file in SITE.glob("*.html")}
    wrong = collections.defaultdict(list)
    for name, page in pages.items():
        for link in page.loaded + page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded and parts.scheme != "javascript":
                    wrong[f"loads {link}"].append(name)
                continue
            target = urllib.parse.unquote(parts.path) or name
            if not (SITE / target).exists():
                wrong[f"no file {target}"].append(name)
            elif parts.fragment not in ("", "nested-classes") and target in pages and parts.fragment not in pages[target].anchors:
                wrong[f"no anchor {link}"].append(name)
    for file in ("navtreedata.js", "search/search.js", *sys.argv[2:]):
        if not (SITE / file).is_file():
            wrong[f"no {file}"].append("the site")
    for fault, names in sorted(wrong.items()):
        print(f"{fault}: in {', '.join(names[:3])}{' and others' if len(names) > 3 else ''}")
    sys.exit(bool(wrong) or len(pages) < 100)


main()
