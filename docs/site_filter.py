#!/usr/bin/env python3
"""Doxygen's filter for pages: site_filter.py ROOT FILE prints the page with links that Doxygen can follow.

Pages are written for readers of the repository: they name other pages by path, and headings as GitHub does. Here each heading gets its
name as a label, and each link the label that it means. A link to a file that the site does not have becomes its text.
"""
import pathlib
import re
import sys

LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])+)\]\(([^()\s]+)\)")
COPIED = ("LICENSE", "NOTICE", "CITATION.cff")  # HTML_EXTRA_FILES


def label_of_page(path):
    """The name of a page, which is its file name in the site."""
    return "index" if path.as_posix() == "README.md" else path.stem.lower()


def label_of_heading(page, heading):
    """The page's label and the name that GitHub gives a heading: small letters, and a hyphen for each space."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return page + "-" + re.sub(r"[^\w -]", "", text.strip().lower()).replace(" ", "-")


def link_in_site(root, file, match):
    """What the site has for a link of a page."""
    text, target = match.groups()
    if re.match(r"\w+:", target):
        return match[0]
    path, _, anchor = target.partition("#")
    if path.startswith("@ref"):
        return match[0]
    place = (file.parent / path).resolve() if path else file
    inside = place.relative_to(root) if place.is_relative_to(root) else None
    if inside is None or inside.as_posix() in COPIED:
        return f"[{text}]({target})"
    if place.suffix != ".md" or inside.parts[0] not in ("docs", place.name):
        return text
    page = label_of_page(inside)
    return f"[{text}](@ref {page}-{anchor})" if anchor else f"[{text}](@ref {page})"


def filtered(root, file, text):
    page = label_of_page(file.relative_to(root) if file.is_relative_to(root) else file)  # a page that the build made
    lines, fenced = [], False
    for number, line in enumerate(text.splitlines()):
        if line.startswith("```"):
            fenced = not fenced
        heading = re.match(r"(#+) (.*)$", line)
        if fenced:
            lines.append(line)
        elif heading and number == 0:
            lines.append(line if page == "index" else f"{line} {{#{page}}}")
        elif heading:
            # A link is no part of a title in the tree.
            title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[2])
            lines.append(f"{heading[1]} {title} {{#{label_of_heading(page, heading[2])}}}")
        elif line.startswith("!["):
            lines.append(line + "<br>")  # the caption is the next line
        else:
            lines.append(LINK.sub(lambda match: link_in_site(root, file, match), line))
    return "\n".join(lines) + "\n"


def main():
    root, file = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
    sys.stdout.write(filtered(root, file, file.read_text(encoding="utf-8")))


main()
