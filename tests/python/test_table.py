"""tutti.sweep, its table, and the command of the package."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest
import tutti
from tutti import __main__ as command

ARGUMENTS = ("--ranks", 2, "-C", "all_reduce", "-a", "auto,ring", "-b", "64", "-e", "512", "--budget", "10ms")


@pytest.fixture(scope="module")
def table():
    return tutti.sweep(*ARGUMENTS)


def test_a_sweep_is_a_table(table, capsys):
    assert len(table) == 4 and table[0]["collective"] == "all_reduce"
    assert {cell["label"] for cell in table} == {"auto", "ring"}
    assert table.context["ranks"] == 2 and table.summary["wrong"] == 0 and len(table.choices) == 2
    assert repr(table).splitlines()[0].split()[:3] == ["collective", "bytes", "label"]
    html = table._repr_html_()
    assert html.count("<tr>") == 5 and "<td>all_reduce</td>" in html


def test_progress_is_shown(capsys):
    tutti.sweep(*ARGUMENTS[:-2], "-n", "1")
    assert "# all_reduce" in capsys.readouterr().err


def test_a_table_as_a_frame_and_a_figure(table):
    pytest.importorskip("pandas")
    frame = table.to_pandas()
    assert list(frame["bytes"]) == [64, 64, 512, 512] and "record" not in frame


def test_a_table_as_a_figure(table):
    pytest.importorskip("plotly")
    figure = table.plot()
    assert [line.name for line in figure.data] == ["auto", "ring"] and list(figure.data[0].x) == [64, 512]
    with pytest.raises(ValueError, match="did not measure broadcast"):
        table.plot("broadcast")


def test_html_of_a_table_is_escaped(tmp_path):
    file = tmp_path / "a.jsonl"
    context = {"record": "context", "schema": "tutti sweep/1", "ranks": 2, "hosts": []}
    texts = dict.fromkeys(("collective", "label", "runs", "transport", "buffers", "dtype", "op"), "<script>")
    times = dict.fromkeys(("median_us", "ci_low_us", "ci_high_us"), 1.0)
    file.write_text(f"{json.dumps(context)}\n{json.dumps({'record': 'cell', 'bytes': 8, **texts, **times})}\n")
    read = tutti.Table.read(str(file))
    assert "<script>" not in read._repr_html_() and read.context == context
    file.write_text('{"record": "cell"}')
    with pytest.raises(ValueError, match="line 1: 'collective' is missing"):
        tutti.Table.read(str(file))


def test_errors_of_the_command_are_raised():
    with pytest.raises(RuntimeError, match="status 2: .*nonsense"):
        tutti.sweep("-C", "nonsense")


def test_errors_of_the_command_are_raised_where_its_status_is_lost():
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with pytest.raises(RuntimeError, match="measured nothing: .*nonsense"):
            tutti.sweep("-C", "nonsense")
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_programs_do_not_ignore_what_the_interpreter_ignores():
    words = [sys.executable, "-m", "tutti", "run", "grep", "^SigIgn", "/proc/self/status"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert int(done.stdout.split()[-1], 16) & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1) == 0, done


def test_the_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "tutti", "list"], capture_output=True, text=True)
    assert done.returncode == 0 and "recursive_doubling" in done.stdout
    wrong = subprocess.run([sys.executable, "-m", "tutti", "nonsense"], capture_output=True, text=True)
    assert wrong.returncode == 2


def test_a_missing_command_is_named(monkeypatch):
    monkeypatch.setattr(command, "__file__", "/nowhere/tutti/__main__.py")
    with pytest.raises(FileNotFoundError, match="/nowhere/tutti/_bin/tutti"):
        command.path()
    with pytest.raises(SystemExit, match="has no command"):
        command.main()


def test_scripts_are_found_beside_a_moved_command(tmp_path):
    """The command of a wheel lies in tutti/_bin, and its scripts in tutti/share/tutti."""
    for folder in ("_bin", "share/tutti", "path"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(os.path.realpath(command.path()), tmp_path / "_bin" / "tutti")
    (tmp_path / "share" / "tutti" / "plot.py").touch()
    python = tmp_path / "path" / "python3"  # has all modules
    python.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/log\ncat > /dev/null\n')
    python.chmod(0o755)
    program = [tmp_path / "_bin" / "tutti", "sweep", *map(str, ARGUMENTS), "--plot", tmp_path / "a.svg"]
    libraries = pathlib.Path(tutti.__file__).parents[1] / "tutti.libs"  # of a wheel
    environment = {**os.environ, "PATH": f"{tmp_path}/path:/usr/bin:/bin", "LD_LIBRARY_PATH": str(libraries)}
    subprocess.run(program, capture_output=True, env=environment, stdin=subprocess.DEVNULL)
    assert str(tmp_path / "share" / "tutti" / "plot.py") in (tmp_path / "log").read_text()
