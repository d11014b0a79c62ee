#!/usr/bin/env python3
"""Injects faults that need no root, and checks that `tutti doctor` names each one with its cure:
doctor_test.py TUTTI DENIED LAUNCHER...

DENIED is a library whose process_vm_readv fails. Each LAUNCHER belongs to another MPI."""
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest

TUTTI, DENIED, *LAUNCHERS = sys.argv[1:]
PATIENCE = 300  # seconds
LAUNCH_VARIABLES = ("OMPI_", "PMI_", "PMIX_", "HYD", "SLURM_", "TUTTI_", "MPI_LOCAL")


def clean_environment():
    """Without the variables of launchers and of tutti."""
    return {name: value for name, value in os.environ.items()
            if name.startswith("OMPI_MCA_") or name.startswith("OMPI_ALLOW_")
            or not name.startswith(LAUNCH_VARIABLES)}


class Doctor(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)

    def start(self, words, limits=None, **variables):
        """Runs a command under limits of resources. Returns its status and its two outputs."""
        def limit():
            for number, value in (limits or {}).items():
                resource.setrlimit(number, (value, value))
        environment = {**clean_environment(), "HOME": str(self.home), **variables}
        environment.pop("XDG_CONFIG_HOME", None)
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              check=False, timeout=PATIENCE, stdin=subprocess.DEVNULL,
                              env=environment, preexec_fn=limit)
        return done.returncode, done.stdout, done.stderr

    def examine(self, *arguments, **more):
        """Returns the exit status and the checks by name, of which each may have several."""
        status, output, errors = self.start([TUTTI, "doctor", "--json", *arguments], **more)
        self.assertIn(status, (0, 1), errors)
        report = json.loads(output)
        checks = {}
        for check in report["checks"]:
            checks.setdefault(check["name"], []).append(check)
        self.assertEqual(status == 1, report["faults"] > 0, output)
        return status, checks

    def expect(self, name, verdict, found, cure, *arguments, **more):
        """Expects one finding of a check, and that it decides the status."""
        status, checks = self.examine(*arguments, **more)
        check = checks[name][0]
        self.assertEqual(check["verdict"], verdict, check)
        self.assertIn(found, check["found"], check)
        self.assertIn(cure, check["cure"], check)
        if verdict == "fault":
            self.assertEqual(status, 1)
        return checks

    def secret(self, text, mode):
        path = self.home / "secret"
        path.write_text(text, "utf-8")
        path.chmod(mode)
        return str(path)

    def test_finds_no_fault_alone(self):
        status, output, errors = self.start([TUTTI, "doctor"])
        self.assertEqual((status, errors), (0, ""), output)
        self.assertRegex(output, r"\nfaults: 0, warnings: \d+\n$")
        self.assertRegex(output, r"\nshared memory   ok       .*MiB per rank.*\n")

    def test_finds_no_fault_on_ranks_that_it_starts(self):
        status, checks = self.examine("--ranks", "2")
        self.assertEqual(status, 0)
        self.assertIn("round trip", checks["links"][0]["found"])
        self.assertEqual(checks["links"][0]["ranks"], [0])
        self.assertEqual(checks["descriptors"][0]["ranks"], [0, 1])

    def test_finds_no_fault_under_each_launcher(self):
        for launcher in LAUNCHERS:
            with self.subTest(launcher):
                status, output, errors = self.start([launcher, "-n", "2", TUTTI, "doctor"])
                self.assertEqual(status, 0, output + errors)
                self.assertRegex(output, r"^tutti .*, 2 ranks\n")
                self.assertRegex(output, r"\nlinks           ok       round trip")
                self.assertIn("\nfaults: 0, ", output)

    def test_few_descriptors(self):
        few = {resource.RLIMIT_NOFILE: 20}
        self.expect("descriptors", "warning", "20 per process", "ulimit -n 1024",
                    "--ranks", "1", limits=few)
        self.expect("descriptors", "fault", "16 ranks need", "ulimit -n 1024",
                    "--ranks", "16", limits=few)

    def test_little_address_space(self):
        little = {resource.RLIMIT_AS: 300 << 20}
        self.expect("address space", "fault", "a process may map 300 MiB", "ulimit -v unlimited",
                    limits=little)

    def test_secret_that_others_may_read(self):
        file = self.secret("ab" * 32, 0o644)
        self.expect("secret", "fault", "may be opened by other users", "chmod 600 " + file,
                    TUTTI_SECRET_FILE=file)

    def test_short_secret(self):
        self.expect("secret", "fault", "must hold 32 bytes", "openssl rand -hex 32",
                    TUTTI_SECRET_FILE=self.secret("ab", 0o600))

    def test_secret_of_one_rank(self):
        file = self.secret("ab" * 32, 0o644)
        script = f"[ $TUTTI_RANK = 1 ] && export TUTTI_SECRET_FILE={file}; exec {TUTTI} doctor"
        status, output, errors = self.start([TUTTI, "run", "-n", "3", "sh", "-c", script])
        self.assertEqual(status, 1, output + errors)
        self.assertRegex(output, r"\nsecret          fault    .*\(rank 1\)\n *cure: .*chmod 600")
        self.assertNotIn("\nsecret          ok", output)
        self.assertIn("\nlinks           ok", output)

    def test_missing_library_of_an_mpi(self):
        self.expect("mpi", "fault", "/nowhere", "unset", TUTTI_MPI_LIBRARY="/nowhere")

    def test_address_of_no_interface(self):
        self.expect("address", "fault", "nowhere0", "unset TUTTI_ADDRESS",
                    TUTTI_ADDRESS="nowhere0")
        self.expect("address", "warning", "only ranks of this host", "unset TUTTI_ADDRESS",
                    TUTTI_ADDRESS="127.0.0.1")

    def test_processes_that_may_not_read_each_other(self):
        checks = self.expect("process access", "warning", "Operation not permitted", "allow it: ",
                             LD_PRELOAD=DENIED)
        memory = checks["shared memory"][0]
        self.assertEqual(memory["verdict"], "ok")
        self.assertNotIn("copies between processes", memory["found"])

    def test_launcher_of_another_mpi(self):
        if not LAUNCHERS:
            self.skipTest("no MPI")
        self.expect("world", "fault", "started 2 ranks", "TUTTI_MPI_LIBRARY", PMI_RANK="0",
                    PMI_SIZE="2")

    def test_tuning_file_of_another_machine(self):
        path = self.home / ".config/tutti/tuning.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"format": "tutti-tuning", "version": 1, "costs": [], "tables": [],
                                    "machine": {"processor": "another", "cores": 77}}), "utf-8")
        self.expect("tuning", "warning", "77 cores of another", "tutti tune")
        path.write_text("{", "utf-8")
        self.expect("tuning", "fault", "tuning.json", "TUTTI_TUNING=none")

    def test_path_without_python(self):
        _, checks = self.examine(PATH="/nowhere")
        self.assertEqual(checks["pytorch"][0]["found"], "none: python3 is not in PATH")
        check = checks["pictures"][0]
        self.assertIn("matplotlib", check["found"])
        self.assertEqual(check["verdict"] == "warning", "install" in check["cure"], check)

    def test_misspelt_variable(self):
        self.expect("variables", "fault", "TUTTI_TIMEOUT", "correct", TUTTI_TIMEOT="3")
        self.expect("variables", "warning", "TUTTI_OF_OTHERS", "unset TUTTI_OF_OTHERS",
                    TUTTI_OF_OTHERS="3")

    def test_variables_of_an_incomplete_launch(self):
        self.expect("launch", "fault", "PMI_RANK", "unset", PMI_SIZE="2")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
