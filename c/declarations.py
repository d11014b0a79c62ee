"""Reads what the headers of the C interface declare. For the Fortran module, and for tests."""
import pathlib
import re
import typing


class Variable(typing.NamedTuple):
    """An argument of a function, or a member of a struct."""

    kind: str  # its type, such as "const void*"
    name: str
    function: "Function | None" = None  # what it points to


class Function(typing.NamedTuple):
    """A function, or the type of functions of a program."""

    name: str
    result: str
    arguments: list[Variable]

    def argument_types(self):
        return ", ".join(argument.kind for argument in self.arguments) or "void"


class Declarations(typing.NamedTuple):
    """All declarations, each in the order of the headers."""

    functions: dict[str, Function]
    callbacks: dict[str, Function]
    structs: dict[str, list[Variable]]
    handles: list[str]
    enumerations: dict[str, dict[str, int]]  # that without a name has the name ""
    constants: dict[str, tuple[str, str]]  # type and value
    comments: dict[str, str]  # of all but handles


def joined(text):
    """A type in the form of the headers: "const void *" is "const void*"."""
    return " ".join(text.split()).replace(" *", "*")


def read_variable(text):
    text = " ".join(text.split())
    pointer = re.fullmatch(r"(.*?) ?\(\* ?(\w+)\)\((.*)\)", text)
    if pointer:
        function = Function(pointer[2], pointer[1], read_arguments(pointer[3]))
        return Variable(f"{function.result} (*)({function.argument_types()})", function.name, function)
    kind, name = re.fullmatch(r"(.*?)\s*\b(\w+)", text).groups()
    return Variable(joined(kind), name)


def read_arguments(text):
    """The arguments between commas that are in no brackets."""
    parts = [part.strip() for part in re.split(r",(?![^(]*\))", text)]
    return [] if parts == ["void"] else [read_variable(part) for part in parts]


def read_enumerators(body):
    """The enumerators of an enumeration of C or C++, with their numbers."""
    following, numbers = 0, {}
    for enumerator, value in re.findall(r"(\w+)\s*(?:=\s*(-?\w+))?\s*(?:,|$)", body):
        following = int(value, 0) if value else following
        numbers[enumerator] = following
        following += 1
    return numbers


def read_functions(code):
    pattern = r"TUTTI_C_API\s+([\w\s*]+?)\b(tutti_\w+)\(((?:[^()]|\([^()]*\))*)\);"
    found = re.findall(pattern, code)
    return {name: Function(name, joined(result), read_arguments(arguments)) for result, name, arguments in found}


def read_callbacks(code):
    found = re.findall(r"typedef (\w+) \(\*(\w+)\)\(([^)]*)\);", code)
    return {name: Function(name, result, read_arguments(arguments)) for result, name, arguments in found}


def read_structs(code):
    found = re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", code, flags=re.S)
    return {
        name: [read_variable(member) for member in filter(None, map(str.strip, body.split(";")))]
        for body, name in found
    }


def read_comments(text):
    """The comment before each declaration, as one line, without its @param and @return."""
    comment = r"/\*\*((?:(?!\*/).)*)\*/\s*"
    function, constant = r"TUTTI_C_API[^(;]*?\b(\w+)\(", r"static const \w+ (\w+)"
    type_name = r"typedef (?:struct|enum) (\w+) \{|typedef \w+ \(\*(\w+)\)"
    declaration = rf"(?:{function}|{constant}|{type_name})"
    return {
        "".join(names): " ".join(body.replace("*", " ").split("@")[0].split())
        for body, *names in re.findall(comment + declaration, text, flags=re.S)
    }


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/|^\s*#[^\n]*", "", text, flags=re.S | re.M)


def read_headers(folder):
    text = "\n".join(file.read_text(encoding="utf-8") for file in sorted(pathlib.Path(folder).rglob("*.h")))
    code = without_comments(text)
    enumerations = re.findall(r"\benum (\w+ )?\{(.*?)\}", code, flags=re.S)
    return Declarations(
        functions=read_functions(code),
        callbacks=read_callbacks(code),
        structs=read_structs(code),
        handles=re.findall(r"typedef struct (\w+) \1;", code),
        enumerations={name.strip(): read_enumerators(body) for name, body in enumerations},
        constants={name: (kind, value) for kind, name, value in re.findall(r"static const (\w+) (\w+) = (\w+);", code)},
        comments=read_comments(text),
    )
