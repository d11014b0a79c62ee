#!/usr/bin/env python3
"""Compares the table of GradientOptions in a page with the header: gradient_options_test.py HEADER PAGE

Names, their order and defaults are equal, and each option has a meaning.
"""
import pathlib
import re
import sys
import unittest

PAGE, HEADER = (pathlib.Path(sys.argv.pop()).read_text(encoding="utf-8") for _ in range(2))


def members_of(header, name):
    """Names and defaults of the members of a struct, as C++ has them."""
    body = re.search(rf"^struct {name} \{{\n(.*?)^\}};", header, re.S | re.M).group(1)
    statements = re.sub("//.*", "", body).split(";")
    members = []
    for statement in (" ".join(words.split()) for words in statements):
        if not statement or statement.startswith("static "):
            continue
        member = re.fullmatch(r"[^={]+ (\w+)(?: = (.+)|(\{.*\}))", statement)
        if not member:
            raise ValueError(f"this is no member with a default: {statement}")
        members.append((member[1], member[2] or member[3]))
    return members


def as_written(value):
    """A default as the page writes it: "4 MiB" for "std::size_t{4} << 20"."""
    mebibytes = re.fullmatch(r"std::size_t\{(\d+)\} << 20", value)
    if mebibytes:
        return f"{mebibytes[1]} MiB"
    number = re.fullmatch(r"\{?([\d.]+)\}?", value)
    return number[1] if number else f"`{value.rpartition('::')[2]}`"


def rows_of(page, heading):
    """The rows of the table below a heading."""
    section = re.search(rf"^## {heading}\n(.*?)^## ", page, re.S | re.M).group(1)
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in row] for row in rows]


class Table(unittest.TestCase):
    maxDiff = None

    def test_has_all_options_and_their_defaults(self):
        expected = [(f"`{name}`", as_written(value))
                    for name, value in members_of(HEADER, "GradientOptions")]
        self.assertGreater(len(expected), 0)
        self.assertEqual([tuple(row[:2]) for row in rows_of(PAGE, "All options")], expected)

    def test_says_what_each_means(self):
        for row in rows_of(PAGE, "All options"):
            self.assertEqual(len(row), 3, row)
            self.assertRegex(row[2], r"\w")

    def test_finds_members_and_defaults(self):
        header = ("struct A {\n  /// b; c = 3.\n  static constexpr int kB = 1;\n"
                  "  std::size_t first = std::size_t{4} << 20;  ///< x\n  Kind kind = Kind::some;\n"
                  "  std::function<void(int)>\n      call{};\n  Duration wait{0};\n};\n")
        self.assertEqual([(name, as_written(value)) for name, value in members_of(header, "A")],
                         [("first", "4 MiB"), ("kind", "`some`"), ("call", "`{}`"), ("wait", "0")])
        with self.assertRaises(ValueError):
            members_of("struct A {\n  int without;\n};\n", "A")


if __name__ == "__main__":
    unittest.main()
