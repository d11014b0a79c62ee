"""The package's files beside its modules: metadata, licences, and the archive of sources."""

from __future__ import annotations

import csv
import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib

import pytest
from installed import IS_INSTALLED
from tutti import __main__ as command

ROOT = pathlib.Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NEEDED = [
    "pyproject.toml",
    "LICENSE",
    "NOTICE",
    "CMakeLists.txt",
    "docs/CMakeLists.txt",
    "docs/python.md",
    "c/include/tutti.h",
    "include/tutti/version.hpp",
    "perf/pages/sweep.py",
    "python/README.md",
    "python/CMakeLists.txt",
    "python/tutti/py.typed",
]


def test_links_of_the_description_lead_outside() -> None:
    """Other sites show it, where links into the repository lead nowhere."""
    text = (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]*)\)|(?:src|href)=\"([^\"]*)\"|^\[[^]]*\]: *(\S+)", text, re.M)
    assert not [link for link in map("".join, links) if not link.startswith("https://")]


def test_extras_are_described() -> None:
    text = (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")
    assert not [name for name in PROJECT["optional-dependencies"] if f"`tutti[{name}]`" not in text]


def test_the_archive_of_sources(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = pytest.importorskip("scikit_build_core.build")
    monkeypatch.chdir(ROOT)
    with tarfile.open(tmp_path / build.build_sdist(str(tmp_path))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert set(NEEDED) <= names
    assert not [name for name in names if name.startswith(("tests/", ".")) or name.endswith((".svg", ".png"))]


@pytest.mark.skipif(not IS_INSTALLED, reason="the package is not installed")
def test_an_installed_package_has_its_licences() -> None:
    files = importlib.metadata.files("tutti") or []
    assert set(PROJECT["license-files"]) <= {file.name for file in files if "licenses" in file.parts}


@pytest.mark.skipif(not IS_INSTALLED, reason="the package is not installed")
def test_an_installed_command_has_a_module_for_each_family_of_mpis() -> None:
    info = subprocess.run([sys.executable, "-m", "tutti", "info", "--json"], stdout=subprocess.PIPE, check=True)
    assert set(json.loads(info.stdout)["mpi_modules"]) == {"openmpi", "mpich", "standard"}


@pytest.mark.parametrize("launcher", ["mpirun.openmpi", "mpiexec.hydra"])
def test_the_command_measures_beside_an_mpi(launcher: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package was built without any MPI: the command loads the launcher's, through a module for its family."""
    if not shutil.which(launcher):
        pytest.skip(f"there is no {launcher}")
    for name in ("ALLOW_RUN_AS_ROOT", "ALLOW_RUN_AS_ROOT_CONFIRM", "MCA_rmaps_base_oversubscribe"):
        monkeypatch.setenv(f"OMPI_{name}", "1")
    words = [launcher, "-n", "2", command.path(), "sweep", "-C", "all_reduce", "-a", "ring,native", "-e", "8", "--csv", "-"]
    never, writer = os.pipe()  # Hydra of MPICH 4.0 may fail where standard input has ended
    done = subprocess.run(words, capture_output=True, text=True, stdin=never, timeout=300)
    for end in (never, writer):
        os.close(end)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {row["algorithm"] for row in csv.DictReader(filter(is_row, done.stdout.splitlines()))} >= {"ring", "native"}


def is_row(line: str) -> bool:
    return not line.startswith("#")
