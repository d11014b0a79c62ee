"""The programs of docs/python.md and of the package's description run."""

import pathlib
import re
import subprocess
import sys

import pytest
from installed import PYTEST
from tutti import __main__ as command

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "docs" / "python.md", ROOT / "python" / "README.md"]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
PROGRAMS = re.findall(r"^```python\n(.*?)^```", TEXT, re.S | re.M)


@pytest.mark.parametrize("program", PROGRAMS, ids=[str(number) for number in range(len(PROGRAMS))])
def test_program(program, tmp_path):
    file = tmp_path / "test_program.py"
    file.write_text(program)
    words = [sys.executable, file]
    if "import pytest" in program:
        words = [sys.executable, *PYTEST, file]
    elif "sweep" not in program:
        words = [command.path(), "run", "-n", "2", *words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout or "import pytest" not in program


def test_the_first_program_prints_its_result(tmp_path):
    file = tmp_path / "first.py"
    file.write_text(PROGRAMS[0])
    done = subprocess.run([command.path(), "run", "-n", "4", sys.executable, file], capture_output=True, text=True)
    assert done.stdout == "4 ranks: 10.0 3\n", done.stderr
