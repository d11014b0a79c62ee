#!/usr/bin/env bash
# The tests of GPUs on real ones, of up to four ranks, and sweeps of as many ranks as there are GPUs; says
# what could not run. Exits with 4 where there is no GPU.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=cmake/setup.sh
source cmake/setup.sh

tutti_install_packages
tutti_set_environment
# Those of places and of how NCCL is told of memory ask the stand-ins.
tests=(memory collectives conformance peers graphs array host deaths gradients)
tutti_build ci --target tutti_command_tutti tutti_test_cuda_figures "${tests[@]/#/tutti_test_cuda_}"
build/release/bin/tutti info | sed -n '/^gpus/,$p'
gpus=$(build/release/bin/tutti info --json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)["cuda"]["gpus"]))')
if ((gpus == 0)); then
  echo "no GPU: nothing could run" >&2
  exit 4
fi

# A test of more ranks than there are GPUs is skipped, and says so.
failed=()
for test in "${tests[@]}"; do
  echo "== $test"
  "build/release/tests/bin/tutti_test_cuda_$test" --gtest_brief=1 || failed+=("$test")
done
echo "== figures"
build/release/tests/bin/tutti_test_cuda_figures || failed+=(figures)
# Ranks that are processes.
processes=tutti_test_cuda_processes_openmpi
if mpirun=$(command -v mpirun.openmpi) && cmake --build --preset ci --target "$processes"; then
  echo "== processes"
  "$mpirun" -n "$((gpus < 3 ? gpus : 3))" "build/release/tests/bin/$processes" --gtest_brief=1 || failed+=(processes)
else
  echo "no Open MPI: no ranks that are processes"
fi
sweep() {
  echo "== sweep $*"
  build/release/bin/tutti sweep -C all_reduce,all_gather -e 64M -f 32 "$@" || failed+=("sweep $*")
}
sweep --ranks "$gpus" --memory cuda
sweep --ranks "$gpus" --memory cuda --graph
sweep --ranks 2 --memory cuda:host # which may share one
if ((gpus > 1)); then
  sweep --ranks "$gpus" --memory cuda --buffers visible
else
  echo "one GPU: no messages of NCCL between GPUs, and no memory of peers"
fi
if ((${#failed[@]} > 0)); then
  echo "failed: ${failed[*]}" >&2
  exit 1
fi
