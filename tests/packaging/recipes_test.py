#!/usr/bin/env python3
"""Checks the recipes of other systems: recipes_test.py ROOT

They can be parsed, name only options of CMake that exist, and need only packages that cmake/setup.sh installs.
"""
import ast
import pathlib
import re
import subprocess
import sys
import unittest

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(sys.argv.pop()).resolve()
PACKAGING = ROOT / "packaging"
# How others call the packages of Debian in cmake/setup.sh.
NAMES = {"c": "g++", "cxx": "g++", "cmake": "cmake", "ninja": "ninja-build", "python": "python3", "mpi": "libopenmpi-dev",
         "nlohmann-json": "nlohmann-json3-dev", "nlohmann_json": "nlohmann-json3-dev", "cli11": "libcli11-dev", "fmt": "libfmt-dev",
         "expat": "libexpat1-dev", "openssl": "libssl-dev", "hwloc": "libhwloc-dev", "libhwloc": "libhwloc-dev"}
NEEDED = {"cmake", "python3", "nlohmann-json3-dev", "libcli11-dev", "libfmt-dev", "libexpat1-dev", "libssl-dev", "libhwloc-dev"}


def text_of(*names):
    return PACKAGING.joinpath(*names).read_text(encoding="utf-8")


def options_of_cmake():
    """The names of tutti's cache entries; TUTTI_MPI_<name>_CXX as each of them."""
    scripts = [ROOT / "CMakeLists.txt", *ROOT.glob("cmake/*.cmake"), PACKAGING / "CMakeLists.txt"]
    lines = "\n".join(path.read_text(encoding="utf-8") for path in scripts)
    names = set(re.findall(r"option\((\w+)", lines)) | set(re.findall(r"set\((\w+) [^)]*\bCACHE\b", lines))
    return names | {f"TUTTI_MPI_{name}_CXX" for name in ("openmpi", "mpich")}


def packages_of_setup():
    lists = re.findall(r"^TUTTI_\w*PACKAGES=\(([^)]*)\)", (ROOT / "cmake" / "setup.sh").read_text(encoding="utf-8"), re.M)
    return set(" ".join(lists).split())


def apt_packages(recipe):
    """The packages that a script installs by apt-get, without files and options."""
    lines = re.findall(r"apt-get install ((?:[^\n&]*\\\n)*[^\n&]*)", recipe)
    words = " ".join(lines).replace("\\\n", " ").split()
    return {word for word in words if not word.startswith(("-", "/"))}


def assignments(source):
    """The values of a file of EasyBuild, whose capitals are constants of EasyBuild."""
    constants = {"SOURCE_TAR_GZ": "%(name)s-%(version)s.tar.gz", "SYSTEM": {"name": "system"}}
    names = dict(constants)
    exec(compile(ast.parse(source), "easyconfig", "exec"), {"__builtins__": {}}, names)  # a file of this repository
    return {name: value for name, value in names.items() if name not in constants}


class Recipes(unittest.TestCase):
    def check_options(self, text):
        """Options of tutti and of CMake in a text exist."""
        known = options_of_cmake() | {"TUTTI_MPI_PRELOAD"}  # a variable of module files
        self.assertIn("TUTTI_BUILD_COMMAND", known)
        for name in re.findall(r"\b(TUTTI_(?:BUILD_|MPI|CUDA_|PACKAGES|SANITIZE|WARNINGS)\w*|BUILD_SHARED_LIBS)\b", text):
            self.assertIn(name, known)

    def check_packages(self, names, needed):
        """All names are of setup.sh's list, and none that is needed is left out."""
        known = packages_of_setup()
        self.assertLessEqual(set(names), known)
        self.assertLessEqual(needed, set(names))

    def test_spack(self):
        source = text_of("spack", "packages", "tutti", "package.py")
        tree = ast.parse(source)
        recipe = next(node for node in tree.body if isinstance(node, ast.ClassDef))
        self.assertEqual((recipe.name, recipe.bases[0].id), ("Tutti", "CMakePackage"))
        self.check_options(re.sub(r"TUTTI_MPI_\{name\}_CXX", "TUTTI_MPI", source))
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        needs = {call.args[0].value.split("@")[0] for call in calls if getattr(call.func, "id", "") == "depends_on"}
        self.check_packages({NAMES[name] for name in needs - {"cuda"}}, NEEDED)
        variants = {call.args[0].value for call in calls if getattr(call.func, "id", "") == "variant"}
        used = {call.args[1].value for call in calls if getattr(call.func, "attr", "") == "define_from_variant"}
        self.assertEqual(used, variants)

    def test_easybuild(self):
        for path in (PACKAGING / "easybuild").glob("*.eb"):
            values = assignments(path.read_text(encoding="utf-8"))
            self.assertEqual(path.name, "{name}-{version}-{toolchain[name]}-{toolchain[version]}.eb".format(**values))
            self.assertEqual(values["version"], self.version())
            self.check_options(values["configopts"])
            needs = [entry[0].lower() for entry in values["builddependencies"] + values["dependencies"]]
            self.check_packages({NAMES[name] for name in needs}, NEEDED)

    def test_conda(self):
        recipe = text_of("conda", "meta.yaml")
        self.assertIn(f'{{% set version = "{self.version()}" %}}', recipe)
        self.check_options(text_of("conda", "build.sh"))
        subprocess.run(["bash", "-n", PACKAGING / "conda" / "build.sh"], check=True)
        block = re.search(r"^requirements:\n(.*?)^\w", recipe, re.S | re.M)[1]
        needs = re.findall(r"^ +- ([\w-]+)", block, re.M)
        self.check_packages({NAMES[name] for name in needs}, NEEDED)
        if yaml is None:
            self.skipTest("no parser of YAML")
        plain = re.sub(r"\{\{[^}]*\}\}", "made", re.sub(r"^\{%.*%\}$", "", recipe, flags=re.M))
        parsed = yaml.safe_load(plain)
        self.assertEqual(parsed["package"]["name"], "tutti")
        self.assertTrue((PACKAGING / "conda" / parsed["source"]["path"] / "CMakeLists.txt").is_file())
        for name in parsed["about"]["license_file"]:
            self.assertTrue((ROOT / name).is_file())

    def test_spack_repository(self):
        self.assertRegex(text_of("spack", "repo.yaml"), r"(?m)^repo:\n  namespace: \w+$")

    def test_docker(self):
        recipe = text_of("container", "Dockerfile")
        lines = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", recipe, flags=re.M)).splitlines()
        words = [line.split()[0] for line in lines if line]
        self.assertLessEqual(set(words), {"FROM", "RUN", "COPY", "WORKDIR", "ENV", "CMD"})
        self.assertEqual(words[0], "FROM")
        self.assertEqual(lines[0].split()[2:], ["AS", "build"])
        self.check_packages(apt_packages(recipe), NEEDED | {"dpkg-dev", "file"})
        self.check_scripts(recipe)

    def test_apptainer(self):
        recipe = text_of("container", "tutti.def")
        self.assertRegex(recipe, r"(?m)^Bootstrap: docker\nFrom: debian:12$")
        sections = re.findall(r"^%(\w+)", recipe, re.M)
        self.assertLessEqual(set(sections), {"setup", "post", "runscript", "test", "labels", "help", "environment"})
        for script in re.findall(r"^%(?:setup|post|test|runscript)\n((?: .*\n)+)", recipe, re.M):
            subprocess.run(["bash", "-n"], input=script, text=True, check=True)
        self.check_packages(apt_packages(recipe), NEEDED | {"dpkg-dev", "file"})
        self.check_scripts(recipe)

    def check_scripts(self, recipe):
        """The scripts of the repository that a recipe calls exist and know their options."""
        calls = re.findall(r"(packaging/\S+\.sh)([^\n]*)", recipe)
        self.assertTrue(calls)
        for script, options in calls:
            for option in re.findall(r"--\w+", options):
                self.assertIn(f"    {option})", (ROOT / script).read_text(encoding="utf-8"))

    def test_deb_script(self):
        self.check_options(text_of("deb.sh"))
        self.check_options(text_of("packages.cmake"))
        subprocess.run(["bash", "-n", PACKAGING / "deb.sh"], check=True)
        result = subprocess.run([PACKAGING / "deb.sh", "--no-such"], capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1))

    def test_pages(self):
        """Commands in pages name files and options that exist."""
        for page in ("install", "cluster", "building"):
            text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
            for block in re.findall(r"^```sh\n(.*?)^```", text, re.S | re.M):
                subprocess.run(["bash", "-n"], input=block, text=True, check=True)
                self.check_options(block)
                for path in re.findall(r"\b(?:packaging|cmake|python|perf|tests)/[\w./-]+", block):
                    self.assertTrue((ROOT / path).exists(), f"{page}: {path}")

    def version(self):
        text = (ROOT / "include" / "tutti" / "version.hpp").read_text(encoding="utf-8")
        return ".".join(re.findall(r"kVersion(?:Major|Minor|Patch) = (\d+);", text))


if __name__ == "__main__":
    unittest.main()
