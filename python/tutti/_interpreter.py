"""tutti runs in the main interpreter of a process only: threads, signals and the end of the process belong to
it, and so do the functions that the shared library calls."""

_TEXT = "tutti cannot be imported in a subinterpreter: use processes, as tutti.spawn starts them"


def _check() -> None:
    """Raises ImportError in a subinterpreter."""
    try:
        import ctypes
    except ImportError as error:  # that of Python 3.12 rejects some subinterpreters itself
        raise ImportError(_TEXT) if "subinterpreter" in str(error) else error
    api: ctypes.PyDLL | None = getattr(ctypes, "pythonapi", None)
    if api is None or not hasattr(api, "PyInterpreterState_GetID"):  # not CPython
        return
    current = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyInterpreterState_Get", api))
    number_of = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(("PyInterpreterState_GetID", api))
    if number_of(current()) != 0:
        raise ImportError(_TEXT)


_check()
