#!/usr/bin/env python3
"""Functions of the C interface reject wrong arguments, whatever the program passes: NULL for each pointer that the
header does not allow to be NULL; numbers that are no enumerators; sizes of no struct; counts of more than there is.
They return TUTTI_INVALID_ARGUMENT with a text, and set what they return to NULL or 0. The calls are made of the
headers, each in a process of its own.

Usage: arguments_test.py LIBRARY HEADERS [PART OF A CASE'S NAME]
"""
import ctypes
import os
import signal
import sys
import traceback

from interface import POISON, Interface, World

OK, INVALID_ARGUMENT, OBJECT = 0, 1, 7
MANY = 1 << 40
# Arguments that may be NULL, as the headers say: of any function, and of one.
OPTIONAL = {"text", "length", "report", "steps", "context", "release", "stream", "options"}
OPTIONAL_OF = {("tutti_exscan", "out")}  # rank 0 gets nothing
INCOMPLETE = {"tutti_send", "tutti_recv", "tutti_probe", "tutti_batch_end"}  # without another call
# The function that reads, or fills, a struct.
USERS = {
    "tutti_call": "tutti_run",
    "tutti_options": "tutti_run",
    "tutti_communicator_options": "tutti_init",
    "tutti_init_options": "tutti_init",
    "tutti_channel": "tutti_init_over",
    "tutti_cuda_options": "tutti_cuda_attach",
    "tutti_parameter": "tutti_make_gradient_sync",
    "tutti_gradient_options": "tutti_make_gradient_sync",
    "tutti_object_call": "tutti_objects_start",
    "tutti_arrival": "tutti_probe",
    "tutti_step_report": "tutti_gradient_wait",
}
OUTPUTS = {"tutti_error", "tutti_piece", "tutti_object"}  # or without a size


def require(condition, what):
    if not condition:
        raise AssertionError(what)


def require_accepted(world, name, status):
    """Functions for GPUs return other errors without a GPU."""
    code, text = world.interface.error()
    is_accepted = status == OK or "cuda" in name and "null" not in text.lower()
    require(is_accepted, f"{name} returns {status}, {code}: '{text}'")


def require_rejected(world, name, status, *parts, expected=INVALID_ARGUMENT):
    code, text = world.interface.error()
    require(status == expected, f"{name} returns {status}, expected {expected}; the last error is '{text}'")
    require(code == expected, f"the last error has status {code}")
    for part in parts:
        require(part.lower() in text.lower(), f"the error does not say '{part}': '{text}'")


def require_cleared(world, name, arguments):
    """A function that failed returns nothing."""
    for argument in world.interface.declared.functions[name].arguments:
        address = arguments[argument.name]
        if address is not None and world.is_output(argument) and argument.name != "hosts":  # an array
            value = world.output(argument, address)
            require(value in (0, -1), f"{name} fails, and leaves {hex(value)} in *{argument.name}")


def valid_call(world, name):
    if name in INCOMPLETE:
        return
    status = world.call(name, world.arguments(name))
    if world.interface.declared.functions[name].result == "tutti_status":
        require_accepted(world, name, status)


def null_call(world, name, null):
    function = world.interface.declared.functions[name]
    arguments = world.arguments(name)
    arguments[null.name] = None
    result = world.call(name, arguments)
    if function.result == "void":
        return
    if function.result != "tutti_status":
        require(result in (0, -1, None, b""), f"{name} of NULL returns {result}")
    elif null.name in OPTIONAL or (name, null.name) in OPTIONAL_OF:
        require_accepted(world, name, result)
    else:
        require_rejected(world, name, result, "null")
        require_cleared(world, name, arguments)


def with_struct(world, struct, **members):
    """Calls the function that reads a struct. @return its status."""
    name = USERS[struct]
    arguments = world.arguments(name)
    given = world.struct(struct, **members)
    if struct == "tutti_communicator_options":
        given = world.struct("tutti_init_options", communicator=given)
        struct = "tutti_init_options"
    for argument in world.interface.declared.functions[name].arguments:
        if world.base_of(argument) == struct:
            arguments[argument.name] = given
    return name, world.call(name, arguments), arguments


def rejected_struct(world, struct, words, expected=INVALID_ARGUMENT, **members):
    name, status, arguments = with_struct(world, struct, **members)
    require_rejected(world, name, status, *words, expected=expected)
    require_cleared(world, name, arguments)


def rejected_enumerator(world, name, argument, number):
    arguments = world.arguments(name)
    arguments[argument.name] += number
    require_rejected(world, name, world.call(name, arguments), argument.kind)


def many_objects(world):
    """One object is given, but the count is another one: no more are read."""
    for kind in range(7):
        for count in 5, MANY:
            arguments = world.arguments("tutti_objects_start")
            arguments["call"] = world.struct("tutti_object_call", kind=kind, count=count)
            status = world.call("tutti_objects_start", arguments)
            if status == OK:
                received = ctypes.c_void_p.from_address(arguments["result"]).value
                status = world.library.tutti_objects_wait_for(received, 1 << 40)
            require_rejected(world, "tutti_objects_start", status, f"{count} objects were given", expected=OBJECT)


def wait_for_null(world):
    world.handle("tutti_request")
    for where in range(3):
        requests = (ctypes.c_void_p * 3)(*[world.handle("tutti_request")] * 3)
        requests[where] = None
        require_rejected(world, "tutti_wait_all", world.library.tutti_wait_all(requests, 3), f"requests[{where}]", "null")


def kept_objects(world):
    """Objects that were kept have no call any more."""
    objects = world.handle("tutti_objects")
    require(world.library.tutti_objects_wait_for(objects, 1 << 40) == OK, "the objects come")
    for _ in range(2):
        require(world.library.tutti_objects_keep(objects) == OK, "they are kept")
        require(world.library.tutti_objects_wait_for(objects, 0) == OK, "they have come")
        require(world.library.tutti_objects_notify(objects, -1) == OK, "nobody is to be notified")
        require(world.library.tutti_objects_count(objects) == 1, "there is one")


def huge_counts(world, name):
    """Bytes of more than 64 bits, of an address space, and of more memory than there is, are not allocated."""
    function = world.interface.declared.functions[name]
    count = next(argument.name for argument in function.arguments if argument.name in ("count", "bytes"))
    for number in (1 << 64) - 1, (1 << 63) + 1, (1 << 62) + 1, (1 << 61) + 1:
        arguments = world.arguments(name)
        arguments[count] = number
        status = world.call(name, arguments)
        require(status not in (OK, 100), f"{name} of {number} returns {status}")
        require_cleared(world, name, arguments)


def cases(interface):
    """The name of each case, and the function that runs it in a world."""
    declared = interface.declared
    for name, function in declared.functions.items():
        yield name, lambda world, name=name: valid_call(world, name)
        for argument in function.arguments:
            if "*" in argument.kind or argument.function or argument.kind in declared.callbacks:
                yield f"{name}, {argument.name} NULL", lambda w, n=name, a=argument: null_call(w, n, a)
            elif argument.kind in declared.enumerations and function.result == "tutti_status":
                for number in 77, 256, 1 << 16, -300:
                    run = lambda w, n=name, a=argument, x=number: rejected_enumerator(w, n, a, x)
                    yield f"{name}, {argument.name} {number} above", run
        counts = [argument.name for argument in function.arguments if argument.kind == "size_t"]
        has_data = any(argument.kind == "const void*" for argument in function.arguments)
        if "count" in counts and has_data or name in ("tutti_allocate", "tutti_cuda_allocate"):
            yield f"{name}, counts too large", lambda w, n=name: huge_counts(w, n)
    require(set(declared.structs) == set(USERS) | OUTPUTS, "each struct has a function that reads it")
    for struct in USERS:
        for member in declared.structs[struct]:
            if member.kind in declared.enumerations:
                for number in 77, 256, 1 << 16, -300:
                    run = lambda w, s=struct, m=member, x=number: rejected_struct(
                        w, s, [m.kind], **{m.name: getattr(w.made(s), m.name) + x}
                    )
                    yield f"{struct}::{member.name} {number} above", run
        for size in 0, 7, MANY:
            run = lambda w, s=struct, x=size: rejected_struct(w, s, ["size", str(x)], size=x)
            yield f"{struct}::size {size}", run
    for struct, words, members in [
        ("tutti_call", ["user_op", "NULL"], {"op": 100, "user_op": 0}),
        ("tutti_options", ["count_of_counts", str(MANY)], {"count_of_counts": MANY, "counts": POISON}),
        ("tutti_options", ["counts", "NULL"], {"count_of_counts": 1}),
        ("tutti_channel", ["all_gather", "NULL"], {"all_gather": 0}),
        ("tutti_gradient_options", ["known_order", str(MANY)], {"known_order": POISON, "known_order_count": MANY}),
        ("tutti_gradient_options", ["known_order", "NULL"], {"known_order_count": 1}),
        ("tutti_gradient_options", ["groups", "NULL"], {"group_count": 1}),
        ("tutti_gradient_options", ["NULL"], {"state_count": 1}),
        ("tutti_object_call", ["objects", "NULL"], {"objects": 0}),
    ]:
        run = lambda w, s=struct, words=words, m=members: rejected_struct(w, s, words, **m)
        yield f"{struct}, {' '.join(members)}", run
    for pieces, words in (
        ({"pieces": 0}, ["tutti_object::pieces", "NULL"]),
        ({"data": 0}, ["tutti_piece::data", "NULL"]),
        ({"bytes": (1 << 64) - 1}, ["address space"]),
    ):
        run = lambda w, p=pieces, words=words: rejected_struct(w, "tutti_object_call", words, objects=w.objects(**p))
        yield f"tutti_object, {pieces}", run
    run = lambda w: rejected_group(w)
    yield "tutti_group of more than there are", run
    yield "tutti_objects_start with more objects than it sends", many_objects
    yield "tutti_wait_all with NULL among others", wait_for_null
    yield "tutti_objects_keep twice", kept_objects


def rejected_group(world):
    arguments = world.arguments("tutti_group")
    arguments["count"] = MANY
    require_rejected(world, "tutti_group", world.call("tutti_group", arguments), str(MANY))
    require_cleared(world, "tutti_group", arguments)


def run_apart(interface, run):
    """Runs a case in a process. @return what is wrong, or nothing."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        try:
            run(World(interface))
        except AssertionError as error:
            os.write(write, str(error).encode())
        except BaseException:  # no test beyond it may run here
            os.write(write, traceback.format_exc().encode())
        os._exit(0)
    os.close(write)
    with open(read, encoding="utf-8") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return text or (f"ended by {signal.Signals(os.WTERMSIG(status)).name}" if os.WIFSIGNALED(status) else "")


def main():
    interface = Interface(sys.argv[1], sys.argv[2])
    wanted = sys.argv[3] if len(sys.argv) > 3 else ""
    count = failures = 0
    for name, run in cases(interface):
        if wanted not in name:
            continue
        count += 1
        problem = run_apart(interface, run)
        if problem:
            failures += 1
            print(f"{name}: {problem}", flush=True)
    print(f"{count} cases, {failures} failures")
    return 1 if failures or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
