#!/usr/bin/env bash
# The tests of GPUs on real ones: as many ranks as there are GPUs, up to four, and says what could not
# run. Exits with 4 where there is no GPU.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=cmake/setup.sh
source cmake/setup.sh

tutti_install_packages
tutti_set_environment
tutti_build ci --target tutti_command_tutti tutti_test_cuda_memory tutti_test_cuda_collectives
build/release/bin/tutti info | sed -n '/^gpus/,$p'
gpus=$(build/release/bin/tutti info --json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)["cuda"]["gpus"]))')
if ((gpus == 0)); then
  echo "no GPU: nothing could run" >&2
  exit 4
fi

build/release/tests/bin/tutti_test_cuda_memory
# A test of more ranks than there are GPUs is skipped, and says so.
build/release/tests/bin/tutti_test_cuda_collectives
