"""The declarations of _library.py are those of the headers."""

from __future__ import annotations

import ctypes
import pathlib
import re
from typing import Any

import pytest

from tutti import _library
from tutti._collectives import Calls

HEADERS = pathlib.Path(__file__).parents[2] / "c" / "include" / "tutti_c"
TEXT = "\n".join(path.read_text() for path in sorted(HEADERS.glob("*.h")))
CODE = re.sub(r"//[^\n]*|/\*.*?\*/|^\s*#[^\n]*", "", TEXT, flags=re.S | re.M)

ENUMS = set(re.findall(r"typedef enum (\w+)", CODE))
HANDLES = set(re.findall(r"typedef struct (\w+) \w+;", CODE))
STRUCTS = {
    "tutti_call": _library.Call,
    "tutti_options": _library.Options,
    "tutti_communicator_options": _library.CommunicatorOptions,
    "tutti_cuda_options": _library.CudaOptions,
    "tutti_init_options": _library.InitOptions,
    "tutti_channel": _library.Channel,
    "tutti_parameter": _library.Parameter,
    "tutti_gradient_options": _library.GradientOptions,
    "tutti_step_report": _library.StepReport,
    "tutti_piece": _library.Piece,
    "tutti_object": _library.Object,
    "tutti_object_call": _library.ObjectCall,
    "tutti_arrival": _library.Arrival,
    "tutti_error": _library.LastError,
}
SCALARS = {
    "size_t": ctypes.c_size_t,
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "double": ctypes.c_double,
}


def type_of(declaration: str) -> Any:
    """The type of ctypes for a type of C; pointers to handles and to bytes are addresses."""
    words = re.sub(r"\b(const|volatile)\b", " ", declaration).replace("*", " * ").split()
    base, stars = words[0], words.count("*")
    if base == "void" and stars == 0:
        return None
    if base == "char":
        return ctypes.c_char_p if stars == 1 else ctypes.POINTER(ctypes.c_char_p)
    if base == "tutti_combine":
        return _library.CombineFunction
    if base == "void" or base in HANDLES:
        known: Any = ctypes.c_void_p
        stars -= 1
    elif base in ENUMS:
        known = ctypes.c_int
    else:
        known = STRUCTS.get(base) or SCALARS[base]
    for _ in range(stars):
        known = ctypes.POINTER(known)
    return known


def arguments_of(text: str) -> list[object]:
    if text.strip() == "void":
        return []
    text = re.sub(r"void \(\*release\)\([^)]*\)", "release_function", text)
    types: list[object] = []
    for argument in text.split(","):
        if argument.strip() == "release_function":
            types.append(_library.ReleaseFunction)
            continue
        declaration = re.sub(r"\w+\s*$", "", argument.strip())
        types.append(type_of(declaration))
    return types


FUNCTIONS = {
    name: [type_of(result), *arguments_of(arguments)]
    for result, name, arguments in re.findall(r"TUTTI_C_API\s+([\w\s*]+?)(tutti_\w+)\(((?:[^()]|\([^()]*\))*)\);", CODE)
}


def test_all_functions_are_declared() -> None:
    assert len(FUNCTIONS) == CODE.count("TUTTI_C_API tutti_") + len(re.findall(r"TUTTI_C_API (?!tutti_)", CODE))
    assert set(FUNCTIONS) == set(_library.FUNCTIONS)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_function(name: str) -> None:
    assert list(_library.FUNCTIONS[name]) == FUNCTIONS[name]


def test_the_shared_library_has_all_functions() -> None:
    loaded = ctypes.CDLL(_library.path())
    missing = [name for name in FUNCTIONS if not hasattr(loaded, name)]
    assert not missing


@pytest.mark.parametrize("name", sorted(STRUCTS))
def test_struct(name: str) -> None:
    body = re.search(r"typedef struct " + name + r" \{(.*?)\} " + name + ";", CODE, flags=re.S)
    assert body is not None
    text = re.sub(r"int \(\*all_gather\)\([^)]*\);", "all_gather_function all_gather;", body[1])
    members = []
    for member in filter(None, (part.strip() for part in text.split(";"))):
        declaration, member_name = re.fullmatch(r"(.*?)(\w+)", member, flags=re.S).groups()  # type: ignore[union-attr]
        is_function = "all_gather_function" in declaration
        members.append((member_name, _library.AllGatherFunction if is_function else type_of(declaration)))
    assert [(field[0].rstrip("_"), field[1]) for field in STRUCTS[name]._fields_] == members


def test_offsets() -> None:
    """abi.txt has what a compiler of C makes of the headers: tests/c/abi_test.py."""
    text = (HEADERS.parents[2] / "tests" / "c" / "abi.txt").read_text()
    compiled = [
        (struct, member, int(offset), int(size))
        for struct, member, offset, size in re.findall(r"^(\w+)\.(\w+) at (\d+) of (\d+) bytes", text, flags=re.M)
    ]
    assert {struct for struct, *_ in compiled} == set(STRUCTS)
    assert compiled == [
        (name, field[0].rstrip("_"), getattr(struct, field[0]).offset, getattr(struct, field[0]).size)
        for name in dict.fromkeys(struct for struct, *_ in compiled)
        for struct in [STRUCTS[name]]
        for field in struct._fields_
    ]


def enumerators_of(name: str) -> dict[str, int]:
    body = re.search(r"typedef enum " + name + r" \{(.*?)\}", CODE, flags=re.S)
    assert body is not None
    values: dict[str, int] = {}
    following = 0
    for enumerator, value in re.findall(r"TUTTI_(\w+)(?:\s*=\s*(-?\d+))?", body[1]):
        following = int(value) if value else following
        values[enumerator.lower()] = following
        following += 1
    return values


def test_enumerators() -> None:
    assert enumerators_of("tutti_collective") == _library.COLLECTIVES
    statuses = enumerators_of("tutti_status")
    assert {number: name for name, number in statuses.items()} == _library.STATUSES
    operators = {f"{name.removeprefix('logical_')}": number for name, number in enumerators_of("tutti_op").items()}
    assert operators.pop("user") == _library.USER_OPERATOR
    assert operators == _library.OPERATORS
    determinisms = {n.removeprefix("determinism_"): v for n, v in enumerators_of("tutti_determinism").items()}
    assert determinisms == _library.DETERMINISMS
    for enum, prefix, table in (
        ("tutti_gradient_order", "order_", _library.ORDERS),
        ("tutti_gradient_storage", "storage_", _library.STORAGES),
        ("tutti_unused_gradients", "unused_", _library.UNUSED),
    ):
        assert {name.removeprefix(prefix): value for name, value in enumerators_of(enum).items()} == table


def test_calls_list_the_operators() -> None:
    text = Calls.__doc__ or ""
    assert not [name for name in _library.OPERATORS if f'"{name}"' not in text]


def test_datatypes() -> None:
    short = {"int": "i", "uint": "u", "float": "f", "bfloat": "bf"}
    declared = enumerators_of("tutti_datatype")
    pairs = {name: number for name, number in declared.items() if name.endswith("_index")}
    values = {re.sub("[a-z]+", lambda kind: short[kind[0]], name): n for name, n in _library.INDEXED.items()}
    assert pairs == {f"{value}_index": number for value, number in values.items()}
    assert set(declared.values()) - set(pairs.values()) == set(_library.DATATYPES.values())
    for name, number in _library.DATATYPES.items():
        kind, bits = re.fullmatch(r"([a-z]+)(\d*)", name).groups()  # type: ignore[union-attr]
        if kind == "complex":
            code = f"c{int(bits) // 2}"
        else:
            code = {"bool": "bool", "bytes": "opaque"}.get(name) or short[kind] + bits
        assert declared[code] == number, name


def test_a_function_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no function tutti_nothing"):
        _library.library.tutti_nothing
