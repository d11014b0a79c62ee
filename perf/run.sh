#!/usr/bin/env bash
# The first sweep on a new machine: installs missing packages, builds, and compares the all_reduce
# algorithms with the MPI's own on 4 ranks. Without an MPI, and without the rights to install one, tutti
# starts the ranks itself. Arguments select another sweep, such as --collective all -e 1M; see
# docs/sweep.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=cmake/setup.sh
source cmake/setup.sh

tutti_install_packages "${TUTTI_MPI_PACKAGES[@]}"
tutti_set_environment
tutti_build release --target tutti_command_tutti

if (($# == 0)); then
  set -- --collective all_reduce -b 8 -e 16M -f 8
fi
results=build/perf
mkdir -p "$results"
if command -v mpirun.openmpi >/dev/null; then
  echo "== sweeping on 4 ranks"
  sweep=(mpirun.openmpi -n 4 build/release/bin/tutti sweep)
else
  echo "== sweeping on 4 ranks, which tutti starts: there is no mpirun.openmpi, so no MPI to compare with"
  sweep=(build/release/bin/tutti sweep --ranks 4)
fi
"${sweep[@]}" "$@" --csv "$results/sweep.csv" \
  --json "$results/sweep.jsonl" --plot "$results/sweep.svg" </dev/null
