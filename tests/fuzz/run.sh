#!/usr/bin/env bash
# Builds the fuzzers with clang++ and runs each for a while: tests/fuzz/run.sh [SECONDS [FUZZER...]]
# Inputs stay in build/fuzz/corpus for the next time, findings in build/fuzz/findings.
# To run a finding again: build/fuzz/tests/bin/tutti_fuzz_NAME build/fuzz/findings/NAME-crash-...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seconds=${1:-120}
fuzzers=("${@:2}")
if ((${#fuzzers[@]} == 0)); then fuzzers=(handshake object tcp_frame topology tuning written); fi

cmake --preset fuzz >/dev/null
cmake --build --preset fuzz
failed=()
mkdir -p build/fuzz/findings
for fuzzer in "${fuzzers[@]}"; do
  echo "== $fuzzer"
  folders=("build/fuzz/corpus/$fuzzer" "tests/fuzz/seeds/$fuzzer")
  mkdir -p "${folders[0]}"
  if [[ ! -d ${folders[1]} ]]; then unset 'folders[1]'; fi
  limits=()
  if [[ $fuzzer == object ]]; then limits=(-malloc_limit_mb=64); fi
  "build/fuzz/tests/bin/tutti_fuzz_$fuzzer" "${folders[@]}" "${limits[@]}" -max_len=8192 \
    -max_total_time="$seconds" -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="build/fuzz/findings/$fuzzer-" || failed+=("$fuzzer")
done
if ((${#failed[@]} > 0)); then
  echo "== findings of ${failed[*]} are in build/fuzz/findings"
  exit 1
fi
