#!/usr/bin/env bash
# Every test, on a machine that has nothing yet. Installs what is missing, then builds and tests three
# times: release with both MPIs, debug with the address and undefined-behaviour sanitizers of g++,
# and with the thread sanitizer of clang. Each test runs in the lanes where it finds most, which
# tests/CMakeLists.txt lists; docs/tests.md has the times. The last line has the number of tests that
# passed and failed, and of those that could not run here.
#   --long         every test in release and in debug, and the long tests: before a release
#   --preset NAME  only this one of: ci, debug, tsan; may be given twice
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=cmake/setup.sh
source cmake/setup.sh

usage() {
  echo "usage: tests/run.sh [--long] [--preset ci|debug|tsan]...; wrong: $1" >&2
  exit 2
}

presets=()
long=no
while (($# > 0)); do
  case $1 in
    --long) long=yes ;;
    --preset)
      [[ ${2-} =~ ^(ci|debug|tsan)$ ]] || usage "--preset ${2-}"
      presets+=("$2")
      shift
      ;;
    *) usage "$1" ;;
  esac
  shift
done

if ((${#presets[@]} == 0)); then presets=(ci debug tsan); fi

# Tests must not depend on measurements of this machine.
export TUTTI_TUNING=none

# Standard input that neither holds anything nor ends: mpiexec.hydra of MPICH 4.0 passes its end on to a rank,
# and dies of SIGPIPE if that has ended before, which one short program in 200 has on a busy machine.
fifo=$(mktemp -u)
mkfifo "$fifo"
exec {no_input}<>"$fifo"
rm "$fifo"

passed=0
failed=0
skipped=()
# Runs a test preset and adds its tests to the sums.
run_tests() {
  local preset=$1 log=build/tests-$1.log summary idle
  echo "== testing preset $preset"
  mkdir -p build
  # Two more than there are processors, since most tests wait most of the time.
  ctest --preset "$preset" --parallel "$(($(nproc) + 2))" <&"$no_input" 2>&1 | tee "$log" || true
  # ctest's closing line: "98% tests passed, 1 tests failed out of 50". Without it nothing ran.
  summary=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests failed out of [0-9]+' "$log" || true)
  if [[ $summary =~ ([0-9]+)\ tests\ failed\ out\ of\ ([0-9]+) ]]; then
    failed=$((failed + BASH_REMATCH[1]))
    passed=$((passed + BASH_REMATCH[2] - BASH_REMATCH[1]))
    # ctest counts those among the passed that could not run here, and lists them at the end.
    mapfile -t idle < <(sed -nE 's/^[[:space:]]+[0-9]+ - (.*) \(Skipped\)$/\1/p' "$log")
    passed=$((passed - ${#idle[@]}))
    skipped+=("${idle[@]}")
  else
    failed=$((failed + 1))
  fi
}

# Builds what the tests of a preset need.
build_preset() {
  local preset=$1 targets=()
  if [[ $long == yes && $preset != tsan ]]; then targets=(--target all); fi
  tutti_build "$preset" "${targets[@]}"
}

# Runs the tests of a preset, if it was built: test_preset PRESET yes|no
test_preset() {
  local preset=$1 tests=$1
  if [[ $long == yes && $preset != tsan ]]; then tests=${preset}_all; fi
  if [[ $2 == yes ]]; then
    run_tests "$tests"
  else
    echo "== preset $preset does not build"
    failed=$((failed + 1))
  fi
}

tutti_install_test_tools
tutti_set_environment
mkdir -p build
built=yes
build_preset "${presets[0]}" || built=no
for index in "${!presets[@]}"; do
  next=${presets[index + 1]-}
  # Most tests wait, so the next preset is built meanwhile, with what they leave of the processors.
  # Ranks that outnumber the processors yield, which must not mean to wait for a compiler.
  if [[ -n $next ]]; then
    (chrt --idle --pid 0 "$BASHPID"; build_preset "$next") >"build/build-$next.log" 2>&1 &
    builder=$!
  fi
  test_preset "${presets[index]}" "$built"
  if [[ -n $next ]]; then
    built=yes
    wait "$builder" || built=no
    if [[ $built == yes ]]; then echo "== built preset $next"; else cat "build/build-$next.log"; fi
  fi
done

if ((${#skipped[@]} == 0)); then
  echo "$passed passed, $failed failed"
else
  echo "== skipped, since this machine does not allow them: ${skipped[*]}"
  echo "$passed passed, $failed failed, ${#skipped[@]} skipped"
fi
((failed == 0))
