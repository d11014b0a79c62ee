#!/usr/bin/env python3
"""Writes the metadata of the package of Python for a package of the system: dist_info.py ROOT VERSION FOLDER

Name and entry points are those of pyproject.toml; the command belongs to another package of the system, so its entry point is left out.
"""
import pathlib
import sys
import tomllib


def main():
    root, version, folder = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version}", f"Summary: {project['description']}",
             f"License: {project['license']}", f"Requires-Python: {project['requires-python']}"]
    lines += [f"Classifier: {classifier}" for classifier in project["classifiers"]]
    groups = [f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
              for group, entries in project["entry-points"].items()]
    (folder / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")
    (folder / "INSTALLER").write_text("system\n", encoding="utf-8")
    (folder / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")


main()
