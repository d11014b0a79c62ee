"""Counts the lines of each class: its body, and all its member functions in whatever files."""
import collections
import re

# clang-format puts definitions of namespaces at the left edge, so these patterns need no parser.
BODY = re.compile(r"^[ \t]*(?:template\s*<[^;{]*>\s*)?(?:class|struct)\s+"
                  r"(?:TUTTI_API\s+|\[\[\w+\]\]\s+|alignas\([^)]*\)\s+)*"
                  r"(?P<name>(?:\w+::)*\w+)(?:\s+final)?(?:\s*:[^{;()]*)?\s*\{", re.M)
MEMBER = re.compile(r"^(?!\s)(?:[\w:<>,&*\[\]\s~]+?[\s&*])?"
                    r"(?P<name>(?:[A-Z]\w*::)*[A-Z]\w*)(?:<[^>;{]*>)?::(?:~?\w+|operator[^\s(]+)\s*\(", re.M)
PUBLIC = "include"


def end_of_block(text, begin):
    """The position of the brace that closes the one at `begin`."""
    depth = 0
    for brace in re.finditer(r"[{}]", text[begin:]):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return begin + brace.start()
    return len(text)


def bodies(text):
    """Yields name and lines of each class body, nested ones by their full names."""
    found = [(match.start(), end_of_block(text, match.end() - 1), match["name"])
             for match in BODY.finditer(text)]
    for begin, end, name in found:
        outer = [n for b, e, n in found if b < begin and end < e]
        yield "::".join([*outer, name]), text.count("\n", begin, end) + 1


def members(text):
    """Yields the class and the lines of each member function that is defined outside of its class."""
    for match in MEMBER.finditer(text):
        rest = re.compile(r"[;{]").search(text, match.end())
        if rest and rest.group() == "{":
            yield match["name"], text.count("\n", match.start(), end_of_block(text, rest.start())) + 1


def class_sizes(files):
    """Lines by (folder, class). `files` yields a folder and a text without comments and strings."""
    sizes = collections.Counter()
    defined = []
    for folder, text in files:
        folder = PUBLIC if PUBLIC in folder.split("/") else folder
        for name, lines in bodies(text):
            sizes[folder, name] += lines
        defined.extend((folder, name, lines) for name, lines in members(text))
    declared = set(sizes)
    for folder, name, lines in defined:
        home = folder if (folder, name) in declared else PUBLIC
        sizes[(home, name) if (home, name) in declared else (folder, name)] += lines
    return sizes
