#!/usr/bin/env python3
"""Enumerators of the C interface have the names, the order and the numbers of those of C++.

Usage: enumerators_test.py C_HEADERS CPP_HEADERS
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "c"))
import declarations

# C's enumeration: its prefix, C++'s one, the number of C++'s first, and numbers of C's own.
PAIRS = {
    "tutti_status": ("", "ErrorCode", 1, {"ok": 0, "pending": 100}),
    "tutti_collective": ("", "Collective", 0, {"send": 100, "recv": 101, "sendrecv": 102}),
    "tutti_datatype": ("", "Datatype", 0, {"bool": 100, "opaque": 101}),
    "tutti_op": ("", "OperatorKind", 0, {"user": 100}),
    "tutti_object_kind": ("object_", "ObjectCall::Kind", 0, {}),
    "tutti_determinism": ("", "Determinism", 0, {"determinism_default": -1}),
    "tutti_gradient_order": ("order_", "GradientOrder", 0, {}),
    "tutti_gradient_storage": ("storage_", "GradientStorage", 0, {}),
    "tutti_unused_gradients": ("unused_", "UnusedGradients", 0, {}),
}


def enumerations_of_cpp(folder):
    """The enumerators of each enumeration in a folder's headers, with their numbers."""
    text = "\n".join(file.read_text(encoding="utf-8") for file in sorted(pathlib.Path(folder).glob("*.hpp")))
    text = re.sub(r"struct (\w+) \{\s*enum class ", r"enum class \1::", declarations.without_comments(text))
    found = re.findall(r"enum class ([\w:]+\w) :[^{;]*\{(.*?)\}", text, flags=re.S)
    return {name: declarations.read_enumerators(body) for name, body in found}


def main():
    in_c = declarations.read_headers(sys.argv[1]).enumerations
    in_cpp = enumerations_of_cpp(sys.argv[2])
    failures = [f"{name} has no counterpart in {__file__}" for name in sorted(set(in_c) - {"", *PAIRS})]
    for name, (prefix, counterpart, first, own) in PAIRS.items():
        there = {n.removeprefix("TUTTI_").lower().removeprefix(prefix): v for n, v in in_c[name].items()}
        wanted = {n: v + first for n, v in in_cpp[counterpart].items() if n not in own} | own
        differ = sorted(set(there.items()) ^ set(wanted.items()))
        if differ:
            failures.append(f"{name} and tutti::{counterpart} differ in {differ}")
    print("\n".join(failures) or f"{len(PAIRS)} enumerations")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
