"""The C interface in ctypes, made of its headers, and valid arguments for each of its functions."""
import ctypes
import mmap
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "c"))
from declarations import read_headers

POISON = 0x5A5A5A5A
SCALARS = {
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "double": ctypes.c_double,
}
MAKERS = {
    "tutti_communicator": "tutti_init",
    "tutti_request": "tutti_start",
    "tutti_plan": "tutti_make_plan",
    "tutti_memory": "tutti_allocate",
    "tutti_objects": "tutti_objects_start",
    "tutti_operator": "tutti_make_operator",
    "tutti_gradient_sync": "tutti_make_gradient_sync",
}
VALUES = {"type": 10, "op": 0, "tag": 1, "count": 1, "capacity": 16, "bytes": mmap.PAGESIZE, "eventfd": -1, "key": 0}


class Interface:
    """Functions and structs of the headers."""

    def __init__(self, library, headers):
        self.declared = read_headers(headers)
        self.library = ctypes.CDLL(library)
        self.scalars = SCALARS | {name: ctypes.c_int for name in self.declared.enumerations}
        self.structs = {}
        for name, members in self.declared.structs.items():
            fields = [(member.name, self.scalars.get(member.kind, ctypes.c_void_p)) for member in members]
            self.structs[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
        for name, function in self.declared.functions.items():
            c_function = getattr(self.library, name)
            c_function.restype = None if function.result == "void" else self.c_type(function.result)
            c_function.argtypes = [self.c_type(argument.kind) for argument in function.arguments]

    def c_type(self, kind):
        return ctypes.c_char_p if kind == "const char*" else self.scalars.get(kind, ctypes.c_void_p)

    def struct(self, name):
        """A struct with its defaults."""
        made = self.structs[name]()
        made.size = ctypes.sizeof(made)
        if name + "_defaults" in self.declared.functions:
            getattr(self.library, name + "_defaults")(ctypes.addressof(made), made.size)
        return made

    def error(self):
        """Status and text of the last error."""
        error = self.struct("tutti_error")
        self.library.tutti_last_error(ctypes.addressof(error))
        return error.status, ctypes.string_at(error.text).decode() if error.text else ""


class World:
    """Valid arguments, in a world of one rank."""

    def __init__(self, interface):
        self.interface = interface
        self.library = interface.library
        self.numbers = (ctypes.c_float * 4096)()
        self._kept = []  # what arguments point at
        self._handles = {}
        self._file, self._pages = -1, None

    def address(self, value):
        self._kept.append(value)
        return ctypes.addressof(value)

    def handle(self, kind):
        """An object of the library, made once."""
        if kind not in self._handles:
            arguments = self.arguments(MAKERS[kind])
            status = self.call(MAKERS[kind], arguments)
            if status != 0:
                raise AssertionError(f"{MAKERS[kind]} returns {status}: {self.interface.error()}")
            self._handles[kind] = ctypes.c_void_p.from_address(arguments["result"]).value
        return self._handles[kind]

    def made(self, kind):
        """A struct that the library accepts."""
        data = ctypes.addressof(self.numbers)
        made = self.interface.struct(kind)
        members = {
            "tutti_call": {"type": 10, "in": data, "out": data, "in_count": 1, "out_count": 1},
            "tutti_parameter": {"data": data, "count": 4},
            "tutti_channel": {"ranks": 1, "is_private": 1},
            "tutti_object_call": {"kind": 3, "count": 1},
        }
        for name, value in members.get(kind, {}).items():
            setattr(made, name, value)
        if kind == "tutti_channel":
            made.all_gather = self.function("all_gather")
        if kind == "tutti_object_call":
            made.objects = self.objects()
        return made

    def struct(self, kind, /, **members):
        """The address of such a struct, with other members."""
        made = self.made(kind)
        for name, value in members.items():
            setattr(made, name, value)
        return self.address(made)

    def objects(self, **members):
        """An object of one piece, with other members of either."""
        structs = self.interface.structs
        piece = structs["tutti_piece"](ctypes.addressof(self.numbers), 5)
        one = structs["tutti_object"](self.address(piece), 1)
        for name, value in members.items():
            setattr(piece if hasattr(piece, name) else one, name, value)
        return self.address(one)

    def function(self, name):
        """A function of the program."""
        void, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int

        def copy(_, own, bytes, every):
            ctypes.memmove(every, own, bytes)
            return 0

        made = {
            "all_gather": ctypes.CFUNCTYPE(number, void, void, size, void)(copy),
            "combine": ctypes.CFUNCTYPE(number, void, void, void, void, size)(lambda *_: 0),
            "release": ctypes.CFUNCTYPE(None, void)(lambda _: None),
        }[name]
        self._kept.append(made)
        return ctypes.cast(made, void).value

    def file(self):
        """A file of a page, which is mapped."""
        if self._pages is None:
            self._file = os.memfd_create("tutti_arguments")
            os.truncate(self._file, mmap.PAGESIZE)
            self._pages = mmap.mmap(self._file, mmap.PAGESIZE)
        return self._file

    def pages(self):
        self.file()
        return ctypes.addressof(ctypes.c_char.from_buffer(self._pages))

    @staticmethod
    def base_of(argument):
        """The type of an argument, or of its target."""
        words = argument.kind.replace("*", " ").split()
        return next((word for word in words if word not in ("const", "volatile")), "")

    def is_output(self, argument):
        """Whether the function sets the pointer or the number that the argument points at."""
        is_number = self.base_of(argument) in ("int32_t", "uint64_t", "size_t")
        return argument.kind.endswith("**") or argument.kind.endswith("*") and is_number and (
            "const" not in argument.kind and "volatile" not in argument.kind
        )

    def output(self, argument, address):
        kind = ctypes.c_int32 if argument.kind == "int32_t*" else ctypes.c_uint64
        return kind.from_address(address).value

    def argument(self, function, argument):
        kind, base = argument.kind, self.base_of(argument)
        if argument.function or kind in self.interface.declared.callbacks:
            return self.function(argument.name)
        if "*" not in kind:
            if argument.name == "size":  # of the struct before it
                return ctypes.sizeof(self.interface.structs[function.removesuffix("_defaults")])
            return self.file() if argument.name == "file" else VALUES.get(argument.name, 0)
        if argument.name == "address":
            return self.pages()
        if kind == "tutti_request* const*":
            return self.address((ctypes.c_void_p * 1)(self.handle("tutti_request")))
        if self.is_output(argument):
            return self.address(ctypes.c_uint64(POISON))
        if base in self.interface.structs:
            return self.struct(base)
        if base in self.interface.declared.handles:
            return self.handle(base)
        if kind == "const char*":
            return os.path.join(tempfile.gettempdir(), f"tutti_arguments_{os.getpid()}").encode()
        if "int32_t" in kind:
            return self.address((ctypes.c_int32 * 1)(0))  # the ranks of a group, or a flag
        return ctypes.addressof(self.numbers)

    def arguments(self, name):
        """Valid ones by name."""
        if name == "tutti_gradient_wait":
            self.library.tutti_gradient_ready(self.handle("tutti_gradient_sync"), 0)
        return {one.name: self.argument(name, one) for one in self.interface.declared.functions[name].arguments}

    def call(self, name, arguments):
        return getattr(self.library, name)(*arguments.values())
