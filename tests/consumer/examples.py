"""Checks of the programs in examples/, built against an installed tree."""
import array
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from tools import RECIPES, run


def build_example(arguments, folder, prefix, name, *options):
    """Builds a program of examples/ alone, as a user would. Returns the build folder."""
    build = pathlib.Path(tempfile.mkdtemp(prefix=name, dir=folder))
    run(arguments.cmake, "-S", arguments.source / "examples" / name, "-B", build, "-G", "Ninja",
        f"-DCMAKE_CXX_COMPILER={arguments.compiler}", f"-DCMAKE_PREFIX_PATH={prefix}", *options)
    run(arguments.cmake, "--build", build)
    return build


def check_own_tests(arguments, folder, prefix):
    """The tests of docs/testing-your-code.md pass: a user's function on a simulated cluster."""
    build = build_example(arguments, folder, prefix, "own_tests", "-DCMAKE_BUILD_TYPE=Debug")
    output = run(build / "own_tests")
    if output != "own_tests: all passed\n":
        sys.exit(f"own_tests printed:\n{output}")


def check_close(what, found, expected, tolerance):
    """Numbers, as many on both sides, that differ by rounding."""
    worst = max((abs(a - b) for a, b in zip(found, expected)), default=math.inf)
    if len(found) != len(expected) or not worst <= tolerance:  # nor is a NaN good
        sys.exit(f"{what}: {len(found)} and {len(expected)} numbers, which differ by {worst}")


def check_own_algorithm(arguments, folder, prefix):
    build = build_example(arguments, folder, prefix, "own_algorithm", "-DCMAKE_BUILD_TYPE=Debug")
    tutti = prefix / "bin" / "tutti"
    load = ("--load", build / "both_ways.so")
    written = folder / "both_ways.json"
    run(tutti, "show", "all_gather", "both_ways", "--ranks", "5", "--format", "json", "--output",
        written, *load)
    expected = {
        (tutti, "run", "-n", "4", build / "own_algorithm"): "both_ways: ",
        (tutti, "run", "-n", "5", build / "from_file", written): "from_file: ",
        (tutti, "list", *load): "a ring both ways at once",
        (tutti, "verify", "--algorithm", "both_ways", *load): "proved",
        (tutti, "sweep", "--ranks", "3", "--collective", "all_gather", "-a", "ring,both_ways,auto",
         "-e", "1K", "-n", "3", *load): "both_ways",
        (tutti, "sweep", "--ranks", "5", "--collective", "all_gather", "-a", "again,auto", "-e", "1K",
         "-n", "3", "--load", f"again={written}"): "again",
    }
    for command, words in expected.items():
        output = run(*command)
        if words not in output:
            sys.exit(f"{command} did not print \"{words}\":\n{output}")


def check_training_page(arguments):
    """docs/training.md shows the two main functions as they are, and they hardly differ in length."""
    page = (arguments.source / "docs" / "training.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```cpp\n(.*?)^```", page, re.S | re.M)
    texts = [(arguments.source / "examples" / "digits" / name).read_text(encoding="utf-8")
             for name in ("serial.cpp", "distributed.cpp")]
    for block, text in zip(shown[:RECIPES["training"]], texts, strict=True):
        if block not in re.sub("^  ", "", text, flags=re.M):
            sys.exit(f"docs/training.md shows what is not in the program:\n{block}")
    if texts[1].count("\n") > texts[0].count("\n") + 10:
        sys.exit("distributed.cpp has more than ten lines more than serial.cpp")


def check_help(arguments, build):
    """--help prints the flags of a program with their defaults, which are those of docs/training.md."""
    page = (arguments.source / "docs" / "training.md").read_text(encoding="utf-8")
    documented = {}
    for names, defaults in re.findall(r"^\| (`--.*?) \| (.*?) \|", page, re.M):
        documented.update(zip(re.findall(r"`(--[a-z-]+) ", names), defaults.split(", "), strict=True))
    found = {}
    for program in ("serial", "distributed", "trainer"):
        smaller, output = found, run(build / program, "--help")
        flags = re.findall(r"^  (--[a-z-]+) \S+\n      (\S.*) \(default: (\S+)\)$", output, re.M)
        found = {name: default for name, _, default in flags}
        if not smaller.items() < found.items() or output.count("default: ") != len(found):
            sys.exit(f"{program} --help printed:\n{output}")
        if run(build / program, "--epochs", "1", "-h") != output:
            sys.exit(f"{program} -h prints something else than --help")
        # --help works where init would fail.
        if run(build / program, "--help", env={"TUTTI_RANK": "x"}) != output:
            sys.exit(f"{program} --help depends on how the program was started")
        wrong = subprocess.run([build / program, "--helpful", "1"], capture_output=True, text=True,
                               check=False)
        if wrong.returncode != 1 or wrong.stdout or not all(name in wrong.stderr for name in found):
            sys.exit(f"{program} --helpful 1 ended with {wrong.returncode}:\n{wrong.stderr}")
    if found != documented:
        sys.exit(f"trainer --help and docs/training.md differ in "
                 f"{sorted(found.items() ^ documented.items())}")


def check_digits(arguments, folder, prefix):
    """Ranks that train together get what one process gets, but for the order of sums. Returns where
    the programs are."""
    check_training_page(arguments)
    build = build_example(arguments, folder, prefix, "digits")
    check_help(arguments, build)
    written = folder / "weights"

    def train(*command):
        output = run(*command, "--epochs", "1", "--weights", written)
        epoch = re.match(r"epoch 1: loss (\S+), accuracy (\S+) \(\d+ of 1000\)\n", output)
        if not epoch:
            sys.exit(f"{command} printed:\n{output}")
        return [float(word) for word in epoch.groups()], array.array("f", written.read_bytes())

    line, weights = train(build / "serial")
    if not (line[1] > 0.9 and len(weights) == 41_802):
        sys.exit(f"digits: loss and accuracy {line}, {len(weights)} weights")
    options = {2: ("--storage", "copies"), 3: ("--storage", "views", "--bucket-bytes", "0")}
    for ranks, more in options.items():
        other, others = train(prefix / "bin" / "tutti", "run", "-n", ranks, build / "distributed",
                              *more)
        check_close(f"digits on {ranks} ranks, weights", others, weights, 1e-2)
        check_close(f"digits on {ranks} ranks, loss and accuracy", other, line, 2.1e-3)
    return build


class Trainer:
    """The trainer on this host, and what it wrote."""

    def __init__(self, folder, prefix, build):
        self.tutti, self.program = prefix / "bin" / "tutti", build / "trainer"
        self.written, self.checkpoint, self.trace = folder / "trained", folder / "checkpoint", folder / "trace.json"
        # Little is learned in so short a time, by some more than by others.
        self.short = ("--train", "1280", "--test", "200", "--epochs", "3", "--weights", self.written)

    def train(self, ranks, *options):
        """Accuracy and weights."""
        output = run(self.tutti, "run", "-n", ranks, self.program, *self.short, *options)
        epoch = re.search(r"epoch 3: loss (\S+), accuracy (\S+) ", output)
        if not epoch:
            sys.exit(f"trainer {options} printed:\n{output}")
        return float(epoch[2]), self.written.read_bytes()

    def usual(self):
        usual = self.train(2)
        if usual[0] < 0.85:
            sys.exit(f"trainer: accuracy {usual[0]}")
        return usual

    def check_kill(self, ranks, options, steps):
        """A run that was killed goes on to the same bits."""
        saving = ("--save-every", "7", *options, "--checkpoint", self.checkpoint)
        self.checkpoint.unlink(missing_ok=True)
        expected = self.train(ranks, *saving)
        for step in steps:
            self.checkpoint.unlink(missing_ok=True)
            killed = subprocess.run(
                [str(word) for word in (self.tutti, "run", "-n", ranks, self.program, *self.short,
                                        *saving, "--stop-at", step, "--stop-rank", ranks - 1)],
                capture_output=True, text=True, timeout=300)
            if killed.returncode == 0 or (step > 7) != self.checkpoint.exists():
                sys.exit(f"trainer {options}, killed at step {step}:\n{killed.stderr}")
            if self.train(ranks, *saving) != expected:
                sys.exit(f"trainer {options}: killed at step {step} it goes on to other weights")


def check_trainer(folder, prefix, build):
    """Some of what check_all_of_trainer does."""
    trainer = Trainer(folder, prefix, build)
    usual = trainer.usual()
    if trainer.train(2, "--strategy", "sharded", "--storage", "views", "--trace", trainer.trace) != usual:
        sys.exit("trainer: shards train other weights than buckets do")
    if not json.loads(trainer.trace.read_text(encoding="utf-8"))["traceEvents"]:
        sys.exit("trainer: there is nothing in the trace")
    trainer.check_kill(2, (), [33])


def check_all_of_trainer(folder, prefix, build):
    """Each strategy and codec learns; a run that was killed goes on to the same bits."""
    trainer = Trainer(folder, prefix, build)
    train, usual, checkpoint = trainer.train, trainer.usual(), trainer.checkpoint
    # All of these reduce the same numbers, and two ranks' sums have one order only.
    for strategy in ("per-tensor", "flat", "negotiated", "after", "sharded"):
        if train(2, "--strategy", strategy, "--storage", "views") != usual:
            sys.exit(f"trainer: strategy {strategy} trains other weights than buckets do")
    clipped = train(2, "--clip", "0.5")
    if clipped == usual or train(2, "--clip", "0.5", "--strategy", "sharded") != clipped:
        sys.exit("trainer: --clip changes nothing, or other weights with shards")
    if train(2, "--verify-every", "3", "--resync-every", "5", "--check-finite", "on", "--trace",
             trainer.trace) != usual:
        sys.exit("trainer: checks change weights")
    slow = ("--rate", "0.02", "--compression-after", "20", "--compression")
    for options, margin in {("--model", "cnn"): -0.05, ("--accumulate", "3"): 0.05,
                            ("--strategy", "local-sgd", "--period", "4"): 0.1,
                            ("--strategy", "diloco", "--period", "4"): 0.1,
                            ("--uneven", "100", "--clip", "5"): 0.1,
                            (*slow, "bf16"): 0.15, (*slow, "int8"): 0.15,
                            (*slow, "one_bit:128"): 0.25, (*slow, "power_sgd:4"): 0.15,
                            (*slow, "top_k:0.05"): 0.15}.items():
        accuracy, _ = train(3, *options)
        if accuracy < usual[0] - margin:
            sys.exit(f"trainer {options}: accuracy {accuracy}, usually {usual[0]}")

    # Shards of velocities, saved by three ranks, are whole for two.
    for options in (("--strategy", "sharded"), ()):
        checkpoint.unlink(missing_ok=True)
        run(trainer.tutti, "run", "-n", 3, trainer.program, *trainer.short[:4], "--epochs", "2", "--strategy",
            "sharded", "--checkpoint", checkpoint)
        train(2, "--checkpoint", checkpoint, *options)

    # 20 steps in an epoch: killed in mid-epoch, before the first checkpoint, and in the last step.
    for ranks, options in ((2, ()), (3, ("--strategy", "sharded")),
                           (2, ("--compression", "one_bit:128", "--compression-after", "5",
                                "--rate", "0.02")),
                           (2, ("--strategy", "diloco", "--save-every", "4", "--period", "4"))):
        trainer.check_kill(ranks, options, (3, 33, 60))
    # One rank and four ranks load a checkpoint of two.
    for ranks, step in ((1, 60), (4, 80)):
        output = run(trainer.tutti, "run", "-n", ranks, trainer.program, *trainer.short, "--epochs", "4",
                     "--strategy", "diloco", "--checkpoint", checkpoint)
        if f"going on after step {step}" not in output or ("epoch 4" in output) != (ranks == 1):
            sys.exit(f"trainer on {ranks} ranks goes on with:\n{output}")


def check_conjugate_gradient(arguments, folder, prefix):
    """Any number of ranks takes the same way to the solution, over tutti and over MPI."""
    # The example looks for one MPI of its own; it is that of the launcher here.
    mpi, launcher, _ = arguments.mpi[0] if arguments.mpi else (None, None, None)
    wrapper = shutil.which(f"mpicxx.{mpi}") if mpi else None
    choice = (f"-DMPI_CXX_COMPILER={wrapper}" if wrapper else "-DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON")
    build = build_example(arguments, folder, prefix, "conjugate_gradient", choice)
    program = build / "conjugate_gradient"
    commands = [(program,)] + [(prefix / "bin" / "tutti", "run", "-n", n, program) for n in (2, 4)]
    if wrapper:
        commands += [(launcher, "-n", n, build / "conjugate_gradient_mpi") for n in (1, 2, 4)]
    expected = None
    for command in commands:
        output = run(*command, 64)
        words = re.search(r"(\d+) iterations, residual (\S+), energy (\S+)\n", output)
        if not words:
            sys.exit(f"{command} printed:\n{output}")
        iterations, *numbers = (float(word) for word in words.groups())
        expected = expected or (iterations, *numbers)
        check_close(f"{command}, iterations", [iterations], expected[:1], 0)
        check_close(f"{command}, residual and energy",
                    [a / b for a, b in zip(numbers, expected[1:])], [1, 1], 1e-10)
