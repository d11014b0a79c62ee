#!/usr/bin/env python3
"""Enumerators of the C interface have the names, the order and the numbers of those of C++.

Usage: enumerators_test.py C_HEADERS CPP_HEADERS
"""
import pathlib
import re
import sys

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


def enumerations(folder, pattern, start):
    """The enumerators of each enumeration in a folder's headers, with their numbers."""
    found = {}
    text = "\n".join(file.read_text(encoding="utf-8") for file in sorted(pathlib.Path(folder).glob(pattern)))
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"struct (\w+) \{\s*enum class ", r"enum class \1::", text)
    for name, body in re.findall(start + r"\s*\{(.*?)\}", text, flags=re.S):
        following, numbers = 0, {}
        for enumerator, value in re.findall(r"(\w+)\s*(?:=\s*(-?\w+))?\s*(?:,|$)", body):
            following = int(value, 0) if value else following
            numbers[enumerator] = following
            following += 1
        found[name] = numbers
    return found


def main():
    in_c = enumerations(sys.argv[1], "*.h", r"typedef enum (\w+)")
    in_cpp = enumerations(sys.argv[2], "*.hpp", r"enum class ([\w:]+\w) :[^{;]*")
    failures = [f"{name} has no counterpart in {__file__}" for name in sorted(set(in_c) - set(PAIRS))]
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
