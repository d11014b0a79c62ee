#!/usr/bin/env bash
# The first sweep on a new machine: installs missing packages, builds, and compares the all_reduce
# algorithms with the MPI's own, on a rank per core. Without an MPI, and without the rights to install one,
# tutti starts the ranks itself. Arguments select another sweep, such as --collective all -e 1M; see
# docs/sweep.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=cmake/setup.sh
source cmake/setup.sh

# Announces a step, and prints the time of the one before.
step() {
  if [[ -n ${step_began-} ]]; then echo "== that took $((SECONDS - step_began)) s"; fi
  step_began=$SECONDS
  if (($# > 0)); then echo "== $1"; fi
}

step "1 of 3: checking the packages"
tutti_install_packages "${TUTTI_MPI_PACKAGES[@]}"
tutti_set_environment
step "2 of 3: compiling; some minutes the first time"
tutti_build release --target tutti_first_sweep

if (($# == 0)); then
  set -- --collective all_reduce -b 8 -e 16M -f 8
fi
results=build/perf
mkdir -p "$results"
ranks=$(($(nproc) > 1 ? $(nproc) : 2))
if ((ranks > 8)); then ranks=8; fi
if command -v mpirun.openmpi >/dev/null; then
  step "3 of 3: sweeping on $ranks ranks"
  sweep=(mpirun.openmpi -n "$ranks" build/release/bin/tutti sweep)
else
  step "3 of 3: sweeping on $ranks ranks, which tutti starts: there is no mpirun.openmpi, so no MPI to compare with"
  sweep=(build/release/bin/tutti sweep --ranks "$ranks")
fi
"${sweep[@]}" "$@" --csv "$results/sweep.csv" \
  --json "$results/sweep.jsonl" --plot "$results/sweep.svg" </dev/null
step
