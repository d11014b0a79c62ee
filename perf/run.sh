#!/usr/bin/env bash
# The main job, on a machine that has nothing yet: installs what is missing, builds, and sweeps the
# all_reduce algorithms on 4 ranks, beside the MPI's own. Where there is no MPI, and no root to install
# one, tutti starts the ranks itself. Arguments say what to sweep instead, such as --collective all
# -e 1M; see docs/sweep.md.
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
