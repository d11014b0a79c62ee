#!/usr/bin/env bash
# The main job, on a machine that has nothing yet: installs what is missing, builds, and sweeps the
# all_reduce algorithms on 4 ranks, beside the MPI's own. Arguments are passed on to `tutti sweep`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=cmake/setup.sh
source cmake/setup.sh

tutti_install_packages
tutti_set_environment
tutti_build release --target tutti_command_tutti

results=build/perf
mkdir -p "$results"
echo "== sweeping on 4 ranks"
status=0
mpirun.openmpi -n 4 build/release/bin/tutti sweep --collective all_reduce -b 8 -e 16M -f 8 \
  --csv "$results/sweep.csv" --json "$results/sweep.jsonl" --plot "$results/sweep.svg" \
  "$@" </dev/null || status=$?
for file in "$results"/sweep.{csv,jsonl,svg}; do
  if [[ -s $file ]]; then
    echo "wrote $PWD/$file"
  fi
done
exit "$status"
