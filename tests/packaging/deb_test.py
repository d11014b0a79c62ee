#!/usr/bin/env python3
"""Builds the DEBs, installs, uses and removes them: deb_test.py ROOT BUILD [JOBS]

They are installed in a copy-on-write view of this system, where a consumer is compiled too, and in a bare one, if debootstrap is here
and finds its packages. Both need root and namespaces; without them the test is skipped.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT, BUILD, *JOBS = sys.argv[1:]
del sys.argv[1:]
ROOT, BUILD = pathlib.Path(ROOT).resolve(), pathlib.Path(BUILD).resolve()
NAMES = ["libtutti-dev", "libtutti-mpi0", "libtutti0", "python3-tutti", "tutti"]

# A view of this system in which writes stay in memory: $1 is an empty folder, $2 has the packages and the script.
OVERLAY = """
set -e
mount -t tmpfs none "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
root=$1/root
"""
# A system with the packages of the variant minbase.
BARE = """
set -e
root=$1/root
debootstrap --variant=minbase --include=ca-certificates bookworm "$root" >"$1/log" 2>&1 || { tail -3 "$1/log"; exit 77; }
cp /etc/resolv.conf "$root/etc/resolv.conf"
"""
ENTER = """
mkdir -p "$root/packages"
cp "$2"/* "$root/packages"
mount -t proc none "$root/proc"
mount --rbind /dev "$root/dev"
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TUTTI_TUNING=none chroot "$root" sh -e "/packages/$3"
"""
USE = """
tutti --version
tutti sweep --ranks 2 --collective all_reduce -e 1K
cat >/packages/ranks.py <<'END'
import array, tutti
world = tutti.init()
x = array.array("d", [world.rank + 1.0])
world.all_reduce(x)
assert list(x) == [3.0], x
print(tutti.__version__, "of Python")
END
tutti run -n 2 python3 /packages/ranks.py
python3 -m tutti --version
"""
REMOVE = """
dpkg -L %(names)s | sort -u >/packages/list
dpkg --purge %(names)s
while read -r file; do
  if [ ! -d "$file" ] && [ -e "$file" ] || case $file in *tutti*) [ -e "$file" ];; *) false;; esac; then
    echo "$file is left"; exit 1
  fi
done </packages/list
echo removed
"""
CONSUMER = """
mkdir /packages/consumer
cd /packages/consumer
cat >program.cpp <<'END'
#include <cstdio>
#include <tutti/tutti.hpp>
int main() {
  tutti::Communicator world = tutti::init();
  const int sum = world.all_reduce(world.rank() + 1);
  if (world.rank() == 0) std::printf("sum %d\\n", sum);
}
END
cat >program.c <<'END'
#include <stdio.h>
#include <tutti.h>
int main(void) {
  tutti_error error;
  tutti_last_error(&error);
  puts("from C");
  return 0;
}
END
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(tutti 0.1 REQUIRED)
add_executable(program program.cpp)
target_link_libraries(program PRIVATE tutti::tutti)
END
cmake -S . -B build
cmake --build build
tutti run -n 2 build/program
g++ -std=c++20 program.cpp -o by_hand $(pkg-config --cflags --libs tutti)
tutti run -n 2 ./by_hand
cc program.c -o by_c -ltutti_c
./by_c
"""


def output_of(*command, **options):
    result = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False, **options)
    return result.returncode, result.stdout


class Debs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        status, text = output_of(ROOT / "packaging" / "deb.sh", "--build", BUILD, *(["--jobs", *JOBS] if JOBS else []))
        if status != 0:
            raise AssertionError(text[-4000:])
        cls.files = {file.name.split("_")[0]: file for file in (BUILD / "packages").glob("*.deb")}

    def test_names_and_needs(self):
        self.assertEqual(sorted(self.files), NAMES)
        needs = {name: output_of("dpkg-deb", "--field", file, "Depends")[1] for name, file in self.files.items()}
        self.assertNotRegex(" ".join(needs.values()), "openmpi|mpich")
        self.assertRegex(needs["tutti"], r"\blibc6\b")
        self.assertRegex(needs["libtutti-dev"], r"\blibtutti0 \(= ")
        for name in ("libtutti-dev", "tutti"):
            self.assertRegex(needs[name], r"\blibtutti-mpi0 \(= ")
        listed = output_of("dpkg-deb", "--contents", self.files["tutti"])[1]
        for module in ("openmpi", "mpich", "standard"):
            self.assertRegex(listed, rf"/usr/lib/\S+/tutti/tutti_mpi_{module}\.so")

    def test_lintian(self):
        if shutil.which("lintian") is None:
            self.skipTest("no lintian")
        status, text = output_of("lintian", "--allow-root", "--fail-on", "error", *self.files.values())
        self.assertEqual(status, 0, text)

    def use(self, make_root, steps, names):
        """Runs steps in a root with some of the packages."""
        if os.geteuid() != 0 or output_of("unshare", "--mount", "true")[0] != 0:
            self.skipTest("only root may make such a system")
        with tempfile.TemporaryDirectory() as folder:
            packages, base = pathlib.Path(folder) / "packages", pathlib.Path(folder) / "base"
            packages.mkdir()
            base.mkdir()
            for name in names:
                shutil.copy(self.files[name], packages)
            (packages / "steps").write_text("\n".join(steps) + REMOVE % {"names": " ".join(names)}, encoding="utf-8")
            status, text = output_of("unshare", "--mount", "--pid", "--fork", "bash", "-c", make_root + ENTER, "bash", base, packages,
                                     "steps")
        if status == 77:
            self.skipTest(f"no bare system: {text}")
        self.assertEqual(status, 0, text)
        self.assertTrue(text.endswith("removed\n"), text)
        return text

    def test_on_this_system(self):
        text = self.use(OVERLAY, ["dpkg --install /packages/*.deb", USE, CONSUMER], NAMES)
        self.assertEqual(text.count("sum 3\n"), 2, text)
        self.assertIn("of Python\n", text)
        self.assertIn("from C\n", text)

    def test_on_a_bare_system(self):
        if shutil.which("debootstrap") is None:
            self.skipTest("no debootstrap")
        install = "apt-get install --yes --no-install-recommends /packages/*.deb >/packages/log || { cat /packages/log; exit 1; }"
        text = self.use(BARE, [install, USE], ["libtutti-mpi0", "libtutti0", "python3-tutti", "tutti"])
        self.assertRegex(text, r"(?m)^ +512 ")


if __name__ == "__main__":
    if shutil.which("dpkg-shlibdeps") is None or shutil.which("file") is None:
        print("the packages dpkg-dev and file are missing")
        sys.exit(77)
    unittest.main(verbosity=2)
