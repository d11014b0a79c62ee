#!/usr/bin/env python3
"""The header that names the commit follows the tree: build_commit_test.py CMAKE SCRIPT"""
import os
import pathlib
import subprocess
import sys
import tempfile


def main(cmake, script):
    """Exits with 1 and a reason where the header is not as it should be."""
    with tempfile.TemporaryDirectory() as folder:
        tree = os.path.join(folder, "tree")
        header = pathlib.Path(folder, "made", "commit.hpp")

        def git(*words):
            line = ["git", "-C", tree, "-c", "user.name=a", "-c", "user.email=a@b", *words]
            return subprocess.run(line, check=True, text=True, stdout=subprocess.PIPE).stdout.strip()

        def written():
            subprocess.run([cmake, "-D", f"SOURCE={tree}", "-D", f"HEADER={header}", "-P", script],
                           check=True, env={**os.environ, "GIT_CEILING_DIRECTORIES": folder})
            return header.read_text(encoding="utf-8").split('"')[1], header.stat().st_mtime_ns

        os.mkdir(tree)
        assert written()[0] == "", "no commit outside of git"
        git("init", "--quiet")
        pathlib.Path(tree, "file").write_text("1", encoding="utf-8")
        git("add", "file")
        git("commit", "--quiet", "--message", "first")
        first, time = written()
        assert first == git("rev-parse", "--short", "HEAD"), first
        assert written() == (first, time), "written again, though nothing changed"
        pathlib.Path(tree, "file").write_text("2", encoding="utf-8")
        assert written()[0] == first + "-dirty", written()
        git("commit", "--quiet", "--all", "--message", "second")
        second, _ = written()
        assert second == git("rev-parse", "--short", "HEAD") != first, second
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
