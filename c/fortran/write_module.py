#!/usr/bin/env python3
"""Writes the Fortran module of the C interface from the headers.

Usage: write_module.py FILE
"""
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from declarations import read_headers

HEAD = """\
! tutti.h for Fortran 2018. Written by c/fortran/write_module.py from the headers.
!
! Names are those of C, with two exceptions, since Fortran ignores case: the struct tutti_x is type(tutti_x_t), and the
! enumerators of tutti_collective begin with TUTTI_COLLECTIVE_. The headers describe what the functions do.
!
! The address of a buffer is tutti_location(x), which rejects arrays that lie in pieces; c_loc accepts them.
! A handle, a buffer, a pointer to options (c_null_ptr: the defaults), and each pointer in a type is a type(c_ptr). An
! unsigned integer is a signed one of the same size. A string that is passed ends with c_null_char.
module tutti
  use, intrinsic :: iso_c_binding
  implicit none
"""

TAIL = """
contains

  ! The address of a variable, or of an array whose elements lie one after the other, such as x, x(2:5) and x(:, 3). Of
  ! another one, such as x(1:9:2) and x(3, :), the library would use the elements between them, so the program stops.
  function tutti_location(x) result(location)
    type(*), dimension(..), target, intent(in) :: x
    type(c_ptr) :: location
    if (.not. is_contiguous(x)) &
      error stop 'tutti_location: the elements of the array do not lie one after the other; pass a copy of it'
    location = c_loc(x)
  end function

  ! The text of the last error of this thread.
  function tutti_last_error_text() result(text)
    character(:), allocatable :: text
    type(tutti_error_t) :: error
    error%size = c_sizeof(error)
    call tutti_last_error(error)
    text = tutti_text_of(error%text)
  end function

  ! A copy of a string of C; empty for a null pointer.
  function tutti_text_of(string) result(text)
    type(c_ptr), intent(in) :: string
    character(:), allocatable :: text
    character(kind=c_char), pointer :: bytes(:)
    integer(c_size_t) :: length, i
    interface
      integer(c_size_t) function strlen(string) bind(c)
        import
        type(c_ptr), value :: string
      end function
    end interface
    length = 0
    if (c_associated(string)) length = strlen(string)
    allocate (character(length) :: text)
    if (length == 0) return
    call c_f_pointer(string, bytes, [length])
    do i = 1, length
      text(i:i) = bytes(i)
    end do
  end function
end module
"""

SCALARS = {
    "int": "integer(c_int)",
    "int32_t": "integer(c_int32_t)",
    "int64_t": "integer(c_int64_t)",
    "uint32_t": "integer(c_int32_t)",
    "uint64_t": "integer(c_int64_t)",
    "size_t": "integer(c_size_t)",
    "double": "real(c_double)",
}
# Prefixes of enumerators that would have the names of functions.
PREFIXES = {"tutti_collective": "TUTTI_COLLECTIVE_"}
# Pointers to as many elements as the communicator has ranks. The others are followed by `count`.
ARRAYS = ("hosts",)
VALUES = {"INT64_MAX": "huge(0_c_int64_t)"}
LONGEST_LINE = 120


def wrapped(line):
    """A statement, continued over lines where it is long."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    parts = textwrap.wrap(line, LONGEST_LINE - 2, subsequent_indent=indent, break_long_words=False)
    return " &\n".join(parts)


class Module:
    def __init__(self, declared):
        self.declared = declared
        self.scalars = SCALARS | {name: "integer(c_int)" for name in declared.enumerations}
        self.names = {"tutti", "tutti_last_error_text", "tutti_location", "tutti_text_of"}

    def new_name(self, name):
        if name.lower() in self.names:
            sys.exit(f"{name} would be declared twice, since Fortran ignores case: see PREFIXES")
        if len(name) > 63:
            sys.exit(f"{name} has more than the 63 characters of a name in Fortran")
        self.names.add(name.lower())
        return name

    def comment_of(self, name, indent):
        """The comment of the header if it fits on a line."""
        line = f"{indent}! {self.declared.comments.get(name, '')}"
        return [line] if len(indent) + 2 < len(line) <= LONGEST_LINE else []

    def member_type(self, member):
        if member.function or member.kind in self.declared.callbacks:
            return "type(c_funptr)"
        return "type(c_ptr)" if "*" in member.kind else self.scalars[member.kind]

    def argument_type(self, argument, is_array):
        """The type of an argument with its attributes."""
        kind = argument.kind
        if "*" not in kind or argument.function:
            return f"{self.member_type(argument)}, value"
        base = re.sub(r"\bconst\b|\bvolatile\b|[* ]", "", kind)
        intent = "in" if kind.startswith("const ") else "inout"
        if kind.count("*") == 2:
            is_result = base in self.declared.handles and not is_array  # set also where the function fails
            return f"type(c_ptr), intent({'out' if is_result else 'in' if is_array else 'inout'})"
        may_be_null = base.endswith("_options") and intent == "in"
        if base == "void" or base in self.declared.handles or "volatile" in kind or may_be_null:
            return "type(c_ptr), value"
        if base == "char":
            return f"character(kind=c_char), intent({intent})"
        return f"{self.scalars.get(base) or f'type({base}_t)'}, intent({intent})"

    def write_arguments(self, arguments, indent):
        """The declarations; neighbours of one type share a line."""
        lines = []
        for argument, following in zip(arguments, [*arguments[1:], None]):
            is_counted = following is not None and following.name == "count" and "*" not in following.kind
            is_array = argument.name in ARRAYS or is_counted and "void" not in argument.kind
            start = f"{indent}{self.argument_type(argument, is_array)} :: "
            name = f"{argument.name}(*)" if is_array or "char*" in argument.kind else argument.name
            if lines and lines[-1].startswith(start):
                lines[-1] += f", {name}"
            else:
                lines.append(start + name)
        return lines

    def write_function(self, name, function):
        names = ", ".join(argument.name for argument in function.arguments)
        word = "function"
        if function.result == "void":
            start, word = "subroutine", "subroutine"
        elif "*" in function.result:
            start = "type(c_ptr) function"
        else:
            start = f"{self.scalars[function.result]} function"
        return [
            *self.comment_of(name, "    "),
            wrapped(f"    {start} {self.new_name(name)}({names}) bind(c)"),
            "      import",
            *self.write_arguments(function.arguments, "      "),
            f"    end {word}",
        ]

    def write_enumerators(self, enumeration, numbers):
        yield from ["", *self.comment_of(enumeration, "  ")]
        for name, number in numbers.items():
            name = self.new_name(name.replace("TUTTI_", PREFIXES.get(enumeration, "TUTTI_"), 1))
            yield f"  integer(c_int), parameter :: {name} = {number}"

    def write_struct(self, struct, members):
        yield from ["", *self.comment_of(struct, "  "), f"  type, bind(c) :: {self.new_name(struct + '_t')}"]
        yield from (f"    {self.member_type(member)} :: {member.name}" for member in members)
        yield "  end type"

    def callbacks(self):
        """The types of functions of a program: those with a name in C, and those of members and arguments."""
        yield from self.declared.callbacks.items()
        owners = [*self.declared.structs.items()]
        owners += [(function.name, function.arguments) for function in self.declared.functions.values()]
        for owner, variables in owners:
            yield from ((f"{owner}_{variable.name}", variable.function) for variable in variables if variable.function)

    def lines(self):
        for enumeration, numbers in self.declared.enumerations.items():
            yield from self.write_enumerators(enumeration, numbers)
        for name, (kind, value) in self.declared.constants.items():
            yield from ["", *self.comment_of(name, "  ")]
            yield f"  {self.scalars[kind]}, parameter :: {self.new_name(name)} = {VALUES[value]}"
        for struct, members in self.declared.structs.items():
            yield from self.write_struct(struct, members)
        yield from ["", "  ! Functions of a program, which are passed by c_funloc.", "  abstract interface"]
        for name, function in self.callbacks():
            yield from self.write_function(name, function)
        yield from ["  end interface", "", "  interface"]
        for name, function in self.declared.functions.items():
            yield from self.write_function(name, function)
        yield "  end interface"


def main():
    module = Module(read_headers(HERE.parent / "include"))
    text = HEAD + "\n".join(module.lines()) + "\n" + TAIL
    pathlib.Path(sys.argv[1]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
