"""The first program of docs/pytorch.md trains one model on two ranks."""

import ast
import pathlib
import re
import subprocess
import sys

from tutti import __main__ as command

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "pytorch.md"
REPORT = """
import tutti
weights = torch.cat([model.weight.detach().flatten(), model.bias.detach()])
if tutti.world().rank == 0:
    print(weights.tolist())
else:
    print(weights.tolist(), file=__import__("sys").stderr)
"""


def test_the_first_program_trains(tmp_path):
    program = re.search(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)[1]
    assert len(program.splitlines()) == 6
    file = tmp_path / "train.py"
    file.write_text(program + REPORT)
    words = [command.path(), "run", "-n", "2", sys.executable, file]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    first, second = (ast.literal_eval(text.strip()) for text in (done.stdout, done.stderr))
    assert first == second, "the ranks have the same weights"
    assert abs(first[0] - 1) < 0.01 and max(map(abs, first[1:])) < 0.01, first
