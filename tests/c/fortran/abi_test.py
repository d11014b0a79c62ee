#!/usr/bin/env python3
"""Types and constants of the Fortran module have the offsets, the sizes and the numbers that tests/c/abi.txt keeps.

Usage: abi_test.py MODULE KEPT LIBRARY FORTRAN-COMPILER
"""
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = """program abi
  use tutti
  implicit none
{variables}
{prints}
contains
  integer(c_intptr_t) function address(location)
    type(c_ptr), intent(in) :: location
    address = transfer(location, address)
  end function
end program
"""


def members_of(module):
    """Each type with its members."""
    found = re.findall(r"  type, bind\(c\) :: (\w+)\n(.*?)  end type", module, flags=re.S)
    return {name: re.findall(r":: (\w+)$", body, flags=re.M) for name, body in found}


def enumerators_of(module):
    return re.findall(r"integer\(c_int\), parameter :: (\w+)", module)


def program_for(module):
    """A program that prints lines in the form of abi.txt."""
    structs = members_of(module)
    prints = [
        f"  print '(a, i0, a, i0, a)', '{name.removesuffix('_t')}.{member} at ', &\n"
        f"    address(c_loc(x{i}%{member})) - address(c_loc(x{i})), ' of ', c_sizeof(x{i}%{member}), ' bytes'"
        for i, (name, members) in enumerate(structs.items())
        for member in members
    ]
    prints += [
        f"  print '(a, i0)', '{name.replace('TUTTI_COLLECTIVE_', 'TUTTI_')} = ', {name}"
        for name in enumerators_of(module)
    ]
    variables = [f"  type({name}), target :: x{i}" for i, name in enumerate(structs)]
    return PROGRAM.format(variables="\n".join(variables), prints="\n".join(prints))


def main():
    module, kept, library, compiler = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        source, binary = pathlib.Path(folder, "abi.f90"), pathlib.Path(folder, "abi")
        source.write_text(program_for(module.read_text(encoding="utf-8")), encoding="utf-8")
        command = [compiler, module, source, library, f"-Wl,-rpath,{library.parent}", "-o", binary]
        subprocess.run(command, cwd=folder, check=True)
        found = subprocess.run([binary], check=True, capture_output=True, text=True).stdout.splitlines()
    lines = kept.read_text(encoding="utf-8").splitlines()
    # Without the types of C.
    wanted = [re.sub(r" bytes: .*", " bytes", line) for line in lines if re.match(r"\w+\.\w+ at |\w+ = ", line)]
    differ = sorted(set(found) ^ set(wanted))
    print("\n".join(differ) or f"{len(found)} lines")
    return 1 if differ or not found else 0


if __name__ == "__main__":
    sys.exit(main())
