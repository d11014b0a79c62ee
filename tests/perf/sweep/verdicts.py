#!/usr/bin/env python3
"""Measures how far a sweep's verdicts can be trusted: verdicts.py SECONDS LAUNCHER TUTTI [REPEATS]

An algorithm is raced against itself: it must be called a tie in at least 95% of the sizes. Then one
copy is slowed down by 5%: it must be called slower in at least 90%.
"""

import json
import os
import subprocess
import sys
import tempfile

ALGORITHM = "recursive_doubling"


def race(launcher, tutti, budget, seed, extra):
    """The standings of the second copy at every size."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.jsonl")
        command = [launcher, "-n", "2", tutti, "sweep", "--collective", "all_reduce", "--algorithm",
                   f"{ALGORITHM},{ALGORITHM}", "-b", "8", "-e", "1M", "-f", "2", "--budget",
                   f"{budget}s", "--seed", str(seed), "--json", path, *extra]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=1800)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)} exited with {done.returncode}\n{done.stdout}")
        with open(path, encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
    return [(record["bytes"], record["label"], record["standing"], record["ratio_to_best"],
             record["samples"]) for record in records if record["record"] == "cell"]


def main(arguments):
    """Prints both figures; exits with 1 if one of them is too low."""
    budget, launcher, tutti = arguments[:3]
    repeats = int(arguments[3]) if len(arguments) > 3 else 1
    ties = slower = sizes = 0
    for seed in range(1, repeats + 1):
        cells = race(launcher, tutti, budget, seed, [])
        sizes += len(cells) // 2
        for bytes_, label, standing, ratio, samples in cells:
            if standing == "slower":
                print(f"A/A: {label} called slower at {bytes_} bytes: {ratio:.3f} "
                      f"({samples} samples)")
        ties += sum(standing == "tie" for _, _, standing, _, _ in cells)
        cells = race(launcher, tutti, budget, seed, ["--inject", f"{ALGORITHM}#2=5%"])
        for bytes_, label, standing, ratio, samples in cells:
            if label.endswith("#2") and standing != "slower":
                print(f"5%: {label} called {standing} at {bytes_} bytes: {ratio:.3f} "
                      f"({samples} samples)")
        slower += sum(label.endswith("#2") and standing == "slower"
                      for _, label, standing, _, _ in cells)
    print(f"A/A: a tie in {ties} of {sizes} sizes ({100 * ties / sizes:.0f}%, 95% wanted)")
    print(f"5% slower: found in {slower} of {sizes} sizes ({100 * slower / sizes:.0f}%, "
          "90% wanted)")
    return 0 if ties >= 0.95 * sizes and slower >= 0.90 * sizes else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
