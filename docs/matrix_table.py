#!/usr/bin/env python3
"""Writes the tables of the matrix into a page: matrix_table.py [--check] PAGE REPORT...

The reports are GoogleTest's JSON of tests/matrix, one or more for each transport. The tables stand
between the two marker lines. With --check nothing is written; the exit status is 1 if the page is out
of date, or if a test failed.
"""
import collections
import json
import pathlib
import sys

BEGIN = "<!-- begin: tests/matrix -->"
END = "<!-- end: tests/matrix -->"


class Reports:
    """The results: by transport and operation or operator, the datatypes."""

    def __init__(self, paths):
        self.right = collections.defaultdict(set)
        self.failures = []
        self.ranks = {}
        self.lists = {}  # what there is: operations, objects, operators, datatypes
        for path in paths:
            for suite in json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["testsuites"]:
                for test in suite["testsuite"]:
                    self.read(test)

    def read(self, test):
        if "failures" in test:
            self.failures.append(f"{test['classname']}.{test['name']}")
        if "datatypes" in test:
            self.lists = {key: value.split("; ") for key, value in test.items()
                          if isinstance(value, str)}
        if "transport" not in test:
            return
        self.ranks.setdefault(test["transport"], []).append(test["ranks"])
        for key, value in test.items():
            if isinstance(value, str):
                self.right[test["transport"], key].update(value.split())

    def types(self, transport, what, all_types):
        """The datatypes of a cell: all of them in one word, or those that there are."""
        found = self.right[transport, what]
        if found.issuperset(all_types):
            return "all"
        return " ".join(name for name in all_types if name in found) or "-"


def table(heads, rows):
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def tables(reports):
    transports = list(reports.ranks)
    datatypes = reports.lists["datatypes"]
    operations = []
    for name in reports.lists["operations"]:
        in_place = all(reports.right[each, name + " in place"] for each in transports)
        cells = [reports.types(each, name, datatypes) for each in transports]
        operations.append([name, *cells, "yes" if in_place else "-"])
    objects = [[name, *(reports.types(each, name, ["objects"]) for each in transports), "-"]
               for name in reports.lists["objects"]]
    ranks = [", ".join(reports.ranks[each]) for each in transports]
    served = []
    for operator in reports.lists["operators"]:
        cells = []
        for datatype in datatypes:
            where = [each for each in transports if datatype in reports.right[each, operator]]
            cells.append("yes" if len(where) == len(transports) else " ".join(where) or "-")
        served.append([operator, *cells])
    return "\n".join([
        table(["operation", *transports, "in place"],
              [["*ranks*", *ranks, ""], *operations, *objects]),
        table(["operator", *datatypes], served)])


def main():
    arguments = [each for each in sys.argv[1:] if each != "--check"]
    page = pathlib.Path(arguments[0])
    reports = Reports(arguments[1:])
    for failure in reports.failures:
        print(f"{failure} failed")
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN + "\n")
    current = f"{before}{BEGIN}\n\n{tables(reports)}\n{END}{rest.split(END)[1]}"
    if "--check" not in sys.argv:
        page.write_text(current, encoding="utf-8")
    elif current != text:
        print(f"{page} is out of date: docs/matrix_table.py {' '.join(arguments)}")
        return 1
    return 1 if reports.failures else 0


if __name__ == "__main__":
    sys.exit(main())
