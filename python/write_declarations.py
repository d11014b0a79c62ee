#!/usr/bin/env python3
"""Writes the module tutti._declarations: what the headers of C declare, for ctypes.

Usage: write_declarations.py FILE
"""
import keyword
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "c"))
from declarations import read_headers

HEAD = '''\
"""tutti.h for ctypes. Written by python/write_declarations.py from the headers.

A struct tutti_x is the class X. Members whose names are keywords of Python end with an underscore.
"""

from __future__ import annotations

from ctypes import CFUNCTYPE, POINTER, Structure
from ctypes import c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

from ._checked import Checked
'''

SCALARS = {
    "int": "c_int",
    "int32_t": "c_int32",
    "int64_t": "c_int64",
    "uint32_t": "c_uint32",
    "uint64_t": "c_uint64",
    "size_t": "c_size_t",
    "double": "c_double",
}
# Python checks the numbers of these before it stores them, or makes them itself.
UNCHECKED = ("tutti_call", "tutti_piece", "tutti_object")
TABLES = {
    "tutti_status": "STATUSES",
    "tutti_collective": "COLLECTIVES",
    "tutti_datatype": "DATATYPES",
    "tutti_op": "OPERATORS",
    "tutti_determinism": "DETERMINISMS",
    "tutti_gradient_order": "ORDERS",
    "tutti_gradient_storage": "STORAGES",
    "tutti_unused_gradients": "UNUSED",
    "tutti_object_kind": "OBJECT_KINDS",
}
PREFIXES = r"determinism_|logical_"  # of some names of an enumeration
NUMBERS = {"i": "int", "u": "uint", "f": "float", "bf": "bfloat", "c": "complex"}
VALUES = {"INT64_MAX": 2**63 - 1}


def version():
    """The version of tutti, which stands in the headers of C++."""
    text = (HERE.parent / "include" / "tutti" / "version.hpp").read_text(encoding="utf-8")
    return ".".join(re.findall(r"kVersion(?:Major|Minor|Patch) = (\d+);", text))


def datatype_name(name):
    """The name of a datatype in Python: i32 is int32, and c32, which has two f32, is complex64."""
    if name in ("bool", "opaque"):
        return name.replace("opaque", "bytes")
    number = re.fullmatch(r"([a-z]+)(\d+)", name)
    if not number or number[1] not in NUMBERS:
        sys.exit(f"the datatype {name} has no name in Python: see {__file__}")
    return f"{NUMBERS[number[1]]}{int(number[2]) * (2 if number[1] == 'c' else 1)}"


def names_of(numbers):
    """The names of an enumeration in Python, without what all have in common."""
    common = os.path.commonprefix(list(numbers)).rpartition("_")[0] + "_"
    names = {name: name.removeprefix(common).lower() for name in numbers}
    return {re.sub(f"^({PREFIXES})", "", names[name]): number for name, number in numbers.items()}


def class_name(name):
    return "".join(part.capitalize() for part in name.removeprefix("tutti_").split("_"))


class Module:
    def __init__(self, declared):
        self.declared = declared
        self.scalars = SCALARS | {name: "c_int" for name in declared.enumerations}

    def type_of(self, kind, function=None):
        """The type in ctypes. Pointers to handles and to bytes are addresses."""
        if function or kind in self.declared.callbacks:
            return class_name(function.name if function else kind) + "Function"
        base, stars = re.sub(r"\bconst\b|\bvolatile\b|[* ]", "", kind), kind.count("*")
        if base == "void" and stars == 0:
            return "None"
        if base in ("void", "char") or base in self.declared.handles:
            known, stars = "c_char_p" if base == "char" else "c_void_p", stars - 1
        else:
            known = self.scalars.get(base) or class_name(base)
        return "POINTER(" * stars + known + ")" * stars

    def types_of(self, result, variables):
        return ", ".join([self.type_of(result), *(self.type_of(it.kind, it.function) for it in variables)])

    def enumerators(self):
        """The tables of names, and single numbers."""
        tables = {TABLES[name]: names_of(numbers) for name, numbers in self.declared.enumerations.items() if name}
        datatypes = tables["DATATYPES"].items()
        tables["DATATYPES"] = {datatype_name(name): number for name, number in datatypes if "_index" not in name}
        tables["INDEXED"] = {
            datatype_name(name.removesuffix("_index")): number for name, number in datatypes if "_index" in name
        }
        singles = {name.removeprefix("TUTTI_"): number for name, number in self.declared.enumerations[""].items()}
        singles |= {name.removeprefix("TUTTI_"): VALUES[value] for name, (_, value) in self.declared.constants.items()}
        singles |= {"PENDING": tables["STATUSES"]["pending"], "USER_OPERATOR": tables["OPERATORS"].pop("user")}
        return tables | singles

    def function_types(self):
        """The types of functions of a program, by their names in C."""
        owners = [*self.declared.structs.values(), *(it.arguments for it in self.declared.functions.values())]
        members = {it.name: it.function for variables in owners for it in variables if it.function}
        return self.declared.callbacks | members

    def write_struct(self, name, members):
        yield from ["", "", f"class {class_name(name)}({'Structure' if name in UNCHECKED else 'Checked'}):"]
        yield "    _fields_ = ["
        for member in members:
            python_name = member.name + "_" * keyword.iskeyword(member.name)
            yield f'        ("{python_name}", {self.type_of(member.kind, member.function)}),'
        yield "    ]"

    def lines(self):
        yield f'VERSION = "{version()}"'
        for name, value in self.enumerators().items():
            yield f"{name} = {value}"
        for name, function in self.function_types().items():
            yield f"{class_name(name)}Function = CFUNCTYPE({self.types_of(function.result, function.arguments)})"
        for name, members in self.declared.structs.items():
            yield from self.write_struct(name, members)
        yield from ["", "", "def functions() -> dict[str, list[Any]]:"]
        yield from ['    """The result and the arguments of each function."""', "    return {"]
        for name, function in self.declared.functions.items():
            yield f'        "{name}": [{self.types_of(function.result, function.arguments)}],'
        yield "    }"


def main():
    declared = read_headers(HERE.parent / "c" / "include")
    text = HEAD + "\n" + "\n".join(Module(declared).lines()) + "\n"
    pathlib.Path(sys.argv[1]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
