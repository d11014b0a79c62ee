"""The parts of a call of the shared library: arrays, numbers, counts and options."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Sequence

from . import arrays
from ._declarations import ANY_RANK, COLLECTIVES, DATATYPES, OPERATORS, USER_OPERATOR, Call
from ._integers import EXACT, Integer
from ._numbers import Numbers, index_of, integer_of, is_integer, is_number, list_of
from ._options import KNOWN, CallOptions, options_of
from .arrays import Buffer
from .errors import ArgumentError
from .operators import PAIR_OPERATORS, Operator

if TYPE_CHECKING:
    from .communicator import Communicator


class Spec:
    """The arguments of a call except its arrays."""

    __slots__ = ("name", "op", "root", "counts", "to", "source", "tag", "options")

    def __init__(
        self,
        name: str,
        options: CallOptions,
        *,
        op: str | Operator = "sum",
        root: int = 0,
        counts: Any = None,
        to: int = 0,
        source: int = 0,
        tag: int = 0,
    ) -> None:
        self.name = name
        self.options = options
        self.op = op
        self.root = root
        self.counts = counts
        self.to = to
        self.source = source
        self.tag = tag
        for key in options:
            if key not in KNOWN:
                raise TypeError(f"{name}() has no option {key!r}; there are {', '.join(sorted(KNOWN))}")


class Arguments:
    """The arrays of a call: its input, its output, and its result."""

    __slots__ = ("input", "output", "result", "numbers", "is_list", "collective", "key")

    def __init__(
        self,
        input: Buffer | None,
        output: Buffer | None,
        result: Any = None,
        numbers: Numbers | Integer | None = None,
        is_list: bool = False,
        collective: str = "",
        key: Buffer | None = None,
    ) -> None:
        self.input = input
        self.output = output
        self.result = result
        self.numbers = numbers
        self.is_list = is_list
        self.collective = collective  # in place of the call's own; without an operator
        self.key = key or input or output  # the array that all ranks pass

    def finish(self) -> Any:
        """The result, once the call has ended."""
        if self.numbers is None:
            return self.result
        values = self.numbers.values()
        return values if self.is_list else values[0]


class Prepared:
    """A call of the shared library. It keeps all memory alive to which the call points."""

    __slots__ = ("spec", "call", "options", "arguments", "operator")

    def __init__(self, world: Communicator, spec: Spec, x: Any, out: Any) -> None:
        self.spec = spec
        traits = TRAITS[spec.name]
        self.arguments = arguments = traits.bind(world, spec, x, out)
        self.call = Call(size=ctypes.sizeof(Call), collective=COLLECTIVES[arguments.collective or spec.name])
        self.operator: Operator | None = None
        _check_pair(spec.name, arguments.input, arguments.output)
        self._set_arrays(arguments, world._copies_bytes and traits.copies_one)
        self._set_peers(spec)
        counts = None
        if spec.counts is not None:
            self.call.in_counts, self.call.out_counts, counts = _counts_of(world, spec)
        self.options = options_of(spec, arguments, counts)
        if traits.reduces and not arguments.collective:
            self._set_operator(world, spec.op, x)

    def options_pointer(self) -> Any:
        return None if self.options is None else ctypes.byref(self.options)

    def _set_arrays(self, arguments: Arguments, is_of_bytes: bool) -> None:
        call = self.call
        for buffer in (arguments.input, arguments.output):
            if buffer is not None:
                call.type = buffer.type
                call.element_bytes = buffer.itemsize
        if arguments.input is not None:
            call.in_ = arguments.input.address
            call.in_count = arguments.input.count
        if arguments.output is not None:
            call.out = arguments.output.address
            call.out_count = arguments.output.count
        if is_of_bytes:
            call.in_count *= call.element_bytes
            call.out_count *= call.element_bytes
            call.type, call.element_bytes = DATATYPES["uint8"], 1

    def _set_peers(self, spec: Spec) -> None:
        call = self.call
        for member, value in (("root", spec.root), ("to", spec.to), ("from_", spec.source), ("tag", spec.tag)):
            if type(value) is not int or value != 0:
                setattr(call, member, index_of(value, f"{spec.name}: {member.rstrip('_')}"))

    def _set_operator(self, world: Communicator, op: str | Operator, x: Any) -> None:
        if isinstance(op, Operator):
            self.operator = op
            self.call.op = USER_OPERATOR
            self.call.user_op = op.pointer_for(self.call.type, self.call.element_bytes, world.has_progress_thread)
            world._notices.end(world._handle.turn)
            return
        number = OPERATORS.get(op) if isinstance(op, str) else None
        if number is None:
            raise ArgumentError(
                f"{self.spec.name}: there is no operator {op!r}; there are {', '.join(OPERATORS)}, and those that "
                "tutti.operator makes of functions"
            )
        if self.call.type in _COMPLEX and op not in ("sum", "prod", "average"):
            name = arrays.NAMES[self.call.type]
            raise ArgumentError(f"{self.spec.name}: operator {op} is not defined for {name}")
        if op in PAIR_OPERATORS:
            self._set_pairs(op)
        elif self.call.type == arrays.BYTES:
            dtype = getattr(x, "dtype", f"elements of {self.call.element_bytes} bytes")
            raise ArgumentError(
                f"{self.spec.name}: operator {op} is not defined for {dtype}, which can be copied only: convert it, "
                "as to float32 or float64, or pass one of tutti.operator"
            )
        self.call.op = number

    def _set_pairs(self, op: str) -> None:
        from ._pairs import pairs_of  # few programs need it

        types = {
            pairs_of(buffer, self.spec.name, op)
            for buffer in (self.arguments.input, self.arguments.output)
            if buffer is not None
        }
        if len(types) > 1:
            raise ArgumentError(f"{self.spec.name}: x and out have pairs of different types: they must be equal")
        (self.call.type,) = types


def _check_pair(name: str, input: Buffer | None, output: Buffer | None) -> None:
    if input is None or output is None:
        return
    if input.type != output.type or input.itemsize != output.itemsize:
        raise ArgumentError(f"{name}: x has elements of {input.dtype}, and out of {output.dtype}: they must be equal")
    if input.is_gpu != output.is_gpu:
        raise ArgumentError(f"{name}: one of x and out lies on a GPU, and the other does not")


# Counts of blocks.


def _indexes(counts: Any, name: str) -> list[int]:
    return [integer_of(count, f"{name}: a count") for count in list_of(counts, f"{name}: counts", "integers")]


def _sizes(counts: Sequence[int], size: int, name: str) -> Any:
    numbers = _indexes(counts, name)
    if len(numbers) != size or min(numbers) < 0:
        raise ArgumentError(f"{name}: counts are {numbers}, but must be {size} numbers, one for each rank")
    return (ctypes.c_size_t * size)(*(index_of(count, f"{name}: a count", 64) for count in numbers))


def _counts_of(world: Communicator, spec: Spec) -> tuple[Any, Any, Any]:
    """Counts as the shared library reads them: of the blocks of x, of those of out, and those of an option."""
    traits = TRAITS[spec.name]
    if traits.x_has_blocks and traits.out_has_blocks:
        if not hasattr(spec.counts, "__len__") or len(spec.counts) != 2:
            raise ArgumentError(f"{spec.name}: counts are two sequences, of the blocks of x, and of those of out")
        sent, received = spec.counts
        return _sizes(sent, world.size, spec.name), _sizes(received, world.size, spec.name), None
    is_read = not traits.is_rooted or world.rank == spec.root
    counts = _sizes(spec.counts, world.size, spec.name) if is_read else (ctypes.c_size_t * world.size)()
    if not traits.is_rooted:
        return None, None, counts
    return (counts, None, None) if traits.x_has_blocks else (None, counts, None)


# The arrays of each collective.


def _is_number(x: Any, spec: Spec) -> bool:
    return is_number(x) or _is_pair(x, spec)


def _is_pair(x: Any, spec: Spec) -> bool:
    """Whether x is a value and an index of an operator of pairs."""
    return type(x) is tuple and len(x) == 2 and spec.op in PAIR_OPERATORS


def _number(x: Any, spec: Spec) -> Numbers:
    if _is_pair(x, spec):
        from ._pairs import Pair

        return Pair(x, spec.name)
    if spec.op in ("and", "or", "xor") and type(x) is int:
        x = int(x != 0)  # of any size
    if spec.op == "average" and is_integer(x):
        try:
            x = float(x)
        except OverflowError:
            raise ArgumentError(f"{spec.name}: {x} is too large for a float, as an average is") from None
    return Numbers(x, 1, spec.name)


def _is_exact(x: Any, spec: Spec) -> bool:
    """Whether x is an integer in a reduction that does not overflow."""
    return (type(x) is int or (is_number(x) and is_integer(x))) and type(spec.op) is str and spec.op in EXACT


def _bind_integer(world: Communicator, spec: Spec, x: Any) -> Arguments:
    is_rooted = TRAITS[spec.name].is_rooted
    gets = not is_rooted or world.rank == spec.root
    ranks = {"scan": world.rank + 1, "exscan": world.rank}.get(spec.name, world.size) if gets else 0
    number = Integer(x, spec.name, str(spec.op), ranks, world.size if gets else 0)
    collective = ("gather" if is_rooted else "all_gather") if number.gathers else ""
    return Arguments(number.buffer, number.output if gets else None, numbers=number, collective=collective)


def _bind_vector(world: Communicator, spec: Spec, x: Any, out: Any) -> Arguments:
    """Every rank has a vector, and gets one: all_reduce and scan."""
    if out is None:
        if _is_exact(x, spec):
            return _bind_integer(world, spec, x)
        if _is_number(x, spec):
            numbers = _number(x, spec)
            return Arguments(numbers.buffer, numbers.buffer, numbers=numbers)
        buffer = arrays.write(x, spec.name, "x")
        return Arguments(buffer, buffer, x)
    return Arguments(arrays.read(x, spec.name, "x"), arrays.write(out, spec.name, "out"), out)


def _bind_exscan(world: Communicator, spec: Spec, x: Any, out: Any) -> Arguments:
    arguments = _bind_vector(world, spec, x, out)
    if world.rank == 0 and isinstance(arguments.numbers, Numbers):
        arguments.numbers = None  # no rank is before rank 0
    return arguments


def _bind_reduce(world: Communicator, spec: Spec, x: Any, out: Any) -> Arguments:
    if world.rank == spec.root:
        return _bind_vector(world, spec, x, out)
    if out is None and _is_exact(x, spec):
        return _bind_integer(world, spec, x)
    if out is None and _is_number(x, spec):
        return Arguments(_number(x, spec).buffer, None)
    return Arguments(arrays.read(x, spec.name, "x"), None)


def _bind_broadcast(world: Communicator, spec: Spec, x: Any, out: Any) -> Arguments:
    if is_number(x):
        numbers = Numbers(x, 1, spec.name)
        return Arguments(numbers.buffer, numbers.buffer, numbers=numbers)
    at = arrays.read if world.rank == spec.root else arrays.write
    buffer = at(x, spec.name, "x")
    return Arguments(buffer, buffer, x)


def _bind_scatter(world: Communicator, spec: Spec, x: Any, out: Any) -> Arguments:
    output = arrays.write(out, spec.name, "out")
    if world.rank != spec.root:
        return Arguments(None, output, out)
    if x is None:
        raise ArgumentError("scatter: the root must pass x, all ranks' blocks")
    return Arguments(arrays.read(x, spec.name, "x"), output, out, key=output)


def _own_block(world: Communicator, spec: Spec, whole: Buffer) -> Buffer:
    """The block of this rank in an array of all blocks."""
    if spec.counts is not None:
        counts = _indexes(spec.counts, spec.name)
        start, count = sum(counts[: world.rank]), counts[world.rank] if len(counts) > world.rank else 0
    else:
        count, rest = divmod(whole.count, world.size)
        start = count * world.rank
        if rest:
            raise ArgumentError(
                f"{spec.name}: without out, x is the array of all ranks' blocks, but its {whole.count} elements "
                f"are no multiple of {world.size}"
            )
    address = whole.address + start * whole.itemsize
    return Buffer(address, (count,), whole.type, whole.itemsize, whole, whole.is_read_only)


def _bind_all_gather(world: Communicator, spec: Spec, x: Any, out: Any) -> Arguments:
    """Every rank has a block, and gets all: all_gather, and gather at the root."""
    if out is not None:
        return Arguments(arrays.read(x, spec.name, "x"), arrays.write(out, spec.name, "out"), out)
    if is_number(x):
        numbers = Numbers(x, world.size, spec.name)
        return Arguments(Numbers(x, 1, spec.name).buffer, numbers.buffer, numbers=numbers, is_list=True)
    whole = arrays.write(x, spec.name, "x")
    block = _own_block(world, spec, whole)
    block.is_gpu, block.stream = whole.is_gpu, whole.stream
    return Arguments(block, whole, x)


def _bind_gather(world: Communicator, spec: Spec, x: Any, out: Any) -> Arguments:
    if world.rank == spec.root:
        return _bind_all_gather(world, spec, x, out)
    if is_number(x):
        return Arguments(Numbers(x, 1, spec.name).buffer, None)
    return Arguments(arrays.read(x, spec.name, "x"), None)


def _bind_both(world: Communicator, spec: Spec, x: Any, out: Any) -> Arguments:
    """Every rank passes two arrays: reduce_scatter, all_to_all and sendrecv."""
    return Arguments(arrays.read(x, spec.name, "x"), arrays.write(out, spec.name, "out"), out)


def _bind_send(world: Communicator, spec: Spec, x: Any, out: Any) -> Arguments:
    return Arguments(Numbers(x, 1, spec.name).buffer if is_number(x) else arrays.read(x, spec.name, "x"), None)


def _bind_recv(world: Communicator, spec: Spec, x: Any, out: Any) -> Arguments:
    if spec.source == ANY_RANK:
        raise ArgumentError("recv: only the blocking call receives from any rank; probe() returns a message's sender")
    return Arguments(None, arrays.write(out, spec.name, "out"), out)


def _bind_barrier(world: Communicator, spec: Spec, x: Any, out: Any) -> Arguments:
    return Arguments(None, None)


class CallTraits(NamedTuple):
    """The use that a call makes of its arrays."""

    bind: Callable[[Communicator, Spec, Any, Any], Arguments]
    reduces: bool = False
    is_rooted: bool = False
    x_has_blocks: bool = False  # one for each rank
    out_has_blocks: bool = False
    copies_one: bool = False  # every rank passes one array, whose elements become those of another rank's


TRAITS = {
    "all_reduce": CallTraits(_bind_vector, reduces=True),
    "scan": CallTraits(_bind_vector, reduces=True),
    "exscan": CallTraits(_bind_exscan, reduces=True),
    "reduce": CallTraits(_bind_reduce, reduces=True, is_rooted=True),
    "broadcast": CallTraits(_bind_broadcast, is_rooted=True, copies_one=True),
    "scatter": CallTraits(_bind_scatter, is_rooted=True, x_has_blocks=True),
    "gather": CallTraits(_bind_gather, is_rooted=True, out_has_blocks=True),
    "all_gather": CallTraits(_bind_all_gather, out_has_blocks=True),
    "reduce_scatter": CallTraits(_bind_both, reduces=True, x_has_blocks=True),
    "all_to_all": CallTraits(_bind_both, x_has_blocks=True, out_has_blocks=True),
    "sendrecv": CallTraits(_bind_both),
    "send": CallTraits(_bind_send, copies_one=True),
    "recv": CallTraits(_bind_recv, copies_one=True),
    "barrier": CallTraits(_bind_barrier),
}
_COMPLEX = (DATATYPES["complex64"], DATATYPES["complex128"])
