"""The module _declarations, which a script writes, is what the headers declare."""

from __future__ import annotations

import ctypes
import importlib.metadata
import pathlib
import re
import sys
from typing import Any

import pytest
from installed import IS_INSTALLED

import tutti
from tutti import _declarations, _library
from tutti._calls import TRAITS
from tutti._collectives import Calls

C = pathlib.Path(__file__).parents[2] / "c"
sys.path.insert(0, str(C))
from declarations import read_headers  # noqa: E402

DECLARED = read_headers(C / "include")


def test_the_shared_library_has_all_functions() -> None:
    loaded = ctypes.CDLL(_library.path())
    missing = [name for name in DECLARED.functions if not hasattr(loaded, name)]
    assert not missing
    assert set(_declarations.functions()) == set(DECLARED.functions) >= _library.QUICK


@pytest.mark.parametrize(
    "name, types",
    [
        ("tutti_batch_cancel", [None]),
        ("tutti_memory_data", [ctypes.c_void_p, ctypes.c_void_p]),
        ("tutti_write_trace", [ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p]),
        ("tutti_status_name", [ctypes.c_char_p, ctypes.c_int]),
        ("tutti_wait_all", [ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]),
        (
            "tutti_make_operator",
            [
                ctypes.c_int,
                _declarations.CombineFunction,
                ctypes.c_void_p,
                ctypes.c_int32,
                _declarations.ReleaseFunction,
                ctypes.POINTER(ctypes.c_void_p),
            ],
        ),
    ],
)
def test_function(name: str, types: list[Any]) -> None:
    assert _declarations.functions()[name] == types


def test_members() -> None:
    """abi.txt has what a compiler of C makes of the headers: tests/c/abi_test.py."""
    text = (C.parent / "tests" / "c" / "abi.txt").read_text()
    compiled = re.findall(r"^tutti_(\w+)\.(\w+) at (\d+) of (\d+) bytes", text, flags=re.M)
    assert {f"tutti_{struct}" for struct, *_ in compiled} == set(DECLARED.structs)
    for name in dict.fromkeys(struct for struct, *_ in compiled):
        struct = getattr(_declarations, name.title().replace("_", ""))
        fields = [(field[0], getattr(struct, field[0])) for field in struct._fields_]
        assert [(member.rstrip("_"), str(at.offset), str(at.size)) for member, at in fields] == [
            tuple(rest) for owner, *rest in compiled if owner == name
        ]


def test_names() -> None:
    """Names that Python changes, and a number for each enumerator of C."""
    numbers = {name: number for names in DECLARED.enumerations.values() for name, number in names.items()}
    d = _declarations
    changed = {
        "I8": d.DATATYPES["int8"],
        "U64": d.DATATYPES["uint64"],
        "BF16": d.DATATYPES["bfloat16"],
        "F32": d.DATATYPES["float32"],
        "C32": d.DATATYPES["complex64"],
        "C64": d.DATATYPES["complex128"],
        "OPAQUE": d.DATATYPES["bytes"],
        "F64_INDEX": d.INDEXED["float64"],
        "LOGICAL_AND": d.OPERATORS["and"],
        "MIN_LOC": d.OPERATORS["min_loc"],
        "USER": d.USER_OPERATOR,
        "DETERMINISM_DEFAULT": d.DETERMINISMS["default"],
        "RUN_TO_RUN": d.DETERMINISMS["run_to_run"],
        "ORDER_OBSERVED": d.ORDERS["observed"],
        "STORAGE_FLAT": d.STORAGES["flat"],
        "UNUSED_DETECT": d.UNUSED["detect"],
        "OBJECT_ALL_TO_ALL": d.OBJECT_KINDS["all_to_all"],
        "PENDING": d.PENDING,
        "ANY_RANK": d.ANY_RANK,
    }
    assert changed == {name: numbers[f"TUTTI_{name}"] for name in changed}
    tables = (d.STATUSES, d.COLLECTIVES, d.DATATYPES, d.INDEXED, d.OPERATORS, d.DETERMINISMS, d.ORDERS, d.STORAGES)
    named = [*(table.values() for table in (*tables, d.UNUSED, d.OBJECT_KINDS)), [d.USER_OPERATOR, d.ANY_RANK]]
    assert sorted(number for values in named for number in values) == sorted(numbers.values())


def test_calls() -> None:
    assert set(TRAITS) == set(_declarations.COLLECTIVES)
    text = Calls.__doc__ or ""
    assert not [name for name in _declarations.OPERATORS if f'"{name}"' not in text]


def test_one_version() -> None:
    assert tutti.__version__ == _library.library.tutti_version().decode()
    if IS_INSTALLED:
        assert tutti.__version__ == importlib.metadata.version("tutti")


def test_a_function_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no function tutti_nothing"):
        _library.library.tutti_nothing
