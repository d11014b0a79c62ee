"""`python -m tutti`, and the command `tutti` of an installed package: runs the command of this package."""

from __future__ import annotations

import os
import signal
import sys


def path() -> str:
    """The file of the command. Raises FileNotFoundError if this package has none."""
    file = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_bin", "tutti")
    if not os.access(file, os.X_OK):
        raise FileNotFoundError(f"this installation of tutti has no command, since there is no program {file}")
    return file


def environment() -> dict[str, str]:
    """The variables of a command that draws: it uses this interpreter, and its matplotlib for pictures."""
    own = [os.path.dirname(sys.executable)] if sys.executable else []
    folders = [*own, os.environ.get("PATH", os.defpath)]
    return {**os.environ, "PATH": os.pathsep.join(folders)}


def main() -> None:
    """Replaces this process by the command. Programs of `tutti run` keep their variables."""
    try:
        file = path()
    except FileNotFoundError as error:
        sys.exit(f"tutti: {error}")
    sys.stdout.flush()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # the interpreter ignores them, which programs would inherit
        signal.signal(number, signal.SIG_DFL)
    variables = dict(os.environ) if sys.argv[1:2] == ["run"] else environment()
    os.execve(file, ["tutti", *sys.argv[1:]], variables)


if __name__ == "__main__":
    main()
