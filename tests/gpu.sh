#!/usr/bin/env bash
# The tests of GPUs on real ones: tests of up to four ranks, which share GPUs over the host and for memory of
# peers, and sweeps of as many ranks as there are GPUs. One GPU is enough. Needs no network and no root: it
# installs nothing, and says what is missing. The CUDA toolkit may be an installed one or that of PyPI's
# wheels (nvidia-cuda-nvcc, nvidia-cuda-runtime, nvidia-nccl-cu13), which it finds by itself.
#   --built FOLDER  takes the programs that were built there, and builds nothing
#   --no-sweeps     runs the tests alone
#   --limit SECONDS ends a step that takes longer, 600 unless told
# Exits with 4 where there is no GPU or something is missing, with 1 where a step fails. Every step has a
# time limit; the last line counts what passed, failed and was skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=cmake/setup.sh
source cmake/setup.sh

folder=build/gpu
built=no
sweeps=yes
limit=600
while (($# > 0)); do
  case $1 in
    --built)
      folder=${2:?--built needs a folder}
      built=yes
      shift
      ;;
    --no-sweeps) sweeps=no ;;
    --limit)
      limit=${2:?--limit needs seconds}
      shift
      ;;
    *)
      echo "usage: tests/gpu.sh [--built FOLDER] [--no-sweeps] [--limit SECONDS]; wrong: $1" >&2
      exit 2
      ;;
  esac
  shift
done

tests=(memory collectives conformance peers graphs array host deaths gradients)
lacks() {
  echo "cannot run: $1" >&2
  exit 4
}

# Prints folders of Python's packages, where wheels of NVIDIA lie.
wheels() {
  local site
  python3 -c 'import site; print(*site.getsitepackages(), site.getusersitepackages(), sep="\n")' 2>/dev/null |
    while read -r site; do
      if [[ -d $site/nvidia ]]; then echo "$site/nvidia"; fi
    done
}

# Has the dynamic linker find a library that may lie in one of the folders given, if it does not already.
find_library() {
  local library=$1 place
  shift
  if ldconfig -p 2>/dev/null | grep -q "$library "; then return; fi
  for place in "$@"; do
    if [[ -e $place/$library ]]; then
      export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$place
      return
    fi
  done
}

find_nvcc() {
  local place
  for place in "${CUDA_PATH:-}/bin" "${CUDA_HOME:-}/bin" /usr/local/cuda/bin /usr/local/cuda-*/bin /opt/cuda/bin \
    "${nvidia[@]/%//cu13/bin}" "${nvidia[@]/%//cuda_nvcc/bin}"; do
    if [[ -x $place/nvcc ]]; then
      echo "$place/nvcc"
      return
    fi
  done
  command -v nvcc || true
}

build() {
  local tool nvcc log=$folder/configure.log capabilities
  for tool in cmake ninja c++ python3; do
    command -v "$tool" >/dev/null || lacks "there is no $tool"
  done
  nvcc=$(find_nvcc)
  [[ -n $nvcc ]] || lacks "there is no nvcc: neither a CUDA toolkit nor the wheel nvidia-cuda-nvcc"
  # Kernels for the GPUs of this machine alone, if the driver's tool says which.
  capabilities=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d . | sort -u | paste -sd';') || true
  mkdir -p "$folder"
  echo "== building in $folder with $nvcc"
  timeout 300 cmake --preset release -B "$folder" -DTUTTI_BUILD_CUDA=ON "-DTUTTI_NVCC=$nvcc" \
    ${capabilities:+"-DTUTTI_CUDA_ARCHITECTURES=$capabilities"} >"$log" 2>&1 || {
    grep -A3 -i 'could not find\|CMake Error' "$log" >&2 || tail "$log" >&2
    lacks "CMake does not find all it needs; $log says more"
  }
  grep -q 'cuda  *ON' "$log" || lacks "$(sed -n 's/^-- *cuda *OFF *//p' "$log")"
  grep -E '^--   (cuda|mpi)' "$log"
  timeout 3000 cmake --build "$folder" --target tutti_command_tutti tutti_fast tutti_test_c tutti_test_cuda_figures "${tests[@]/#/tutti_test_cuda_}"
  if grep -q 'mpi: openmpi *ON' "$log"; then
    timeout 1200 cmake --build "$folder" --target tutti_test_cuda_mpi_openmpi
  fi
}

passed=0
failed=()
skipped=()
# Adds up what a program of GoogleTest has printed; of several ranks the first that ended.
count_tests() {
  local step=$1 log=$2 name before=
  passed=$((passed + $(sed -nE 's/^\[  PASSED  \] ([0-9]+) test.*/\1/p' "$log" | head -n1 | grep . || echo 0)))
  while read -r line; do
    if [[ $line =~ ^\[\ \ SKIPPED\ \]\ ([^ ]+)\ \( ]]; then
      name=${BASH_REMATCH[1]}
      if [[ " ${skipped[*]} " != *" $step: $name "* ]]; then skipped+=("$step: $name ($before)"); fi
    fi
    before=$line
  done <"$log"
}

# Runs a step: step NAME COMMAND...
step() {
  local name=$1 log status=0
  shift
  log=$folder/gpu-${name//[^a-z0-9]/_}.log
  echo "== $name"
  timeout --kill-after=10 "$limit" "$@" >"$log" 2>&1 || status=$?
  if grep -q '^\[==========\]' "$log"; then
    count_tests "$name" "$log"
    grep -E '^\[  (PASSED|FAILED|SKIPPED)  ?\]' "$log" | grep -v ' ms)' | sort -u | head -n 20 || true
  elif ((status == 4)); then
    skipped+=("$name: $(tail -n1 "$log")")
    return
  else
    cat "$log"
    if ((status == 0)); then passed=$((passed + 1)); fi
  fi
  if ((status == 0)); then return; fi
  if ((status == 124 || status == 137)); then echo "$name took more than $limit s" >&2; fi
  { grep -A12 ': Failure$' "$log" || tail -n 40 "$log"; } | head -n 80 >&2
  failed+=("$name")
}

mapfile -t nvidia < <(wheels)
find_library libcuda.so.1 /usr/lib/x86_64-linux-gnu /usr/lib64 /usr/local/nvidia/lib64 /usr/lib/wsl/lib
find_library libnccl.so.2 "${nvidia[@]/%//nccl/lib}" /usr/local/cuda/lib64
tutti_set_environment
export TUTTI_TUNING=none GTEST_COLOR=no
# Streams of ranks that share a GPU, of which some wait, need queues of their own.
export CUDA_DEVICE_MAX_CONNECTIONS=32
# The first launch of a kernel loads it, which waits for streams that tests hold up.
export CUDA_MODULE_LOADING=EAGER
if [[ $built == no ]]; then build; fi
tutti=$folder/bin/tutti
[[ -x $tutti ]] || lacks "there is no $tutti"
info=$("$tutti" info | sed -n '/^gpus/,$p')
echo "$info"
gpus=$(grep -c '^  gpu [0-9].*compute capability' <<<"$info" || true)
((gpus > 0)) || lacks "there is no GPU that this process sees"

for test in "${tests[@]}"; do
  step "$test" "$folder/tests/bin/tutti_test_cuda_$test"
done
step figures "$folder/tests/bin/tutti_test_cuda_figures"
ranks=$((gpus < 2 ? 2 : gpus > 3 ? 3 : gpus))
for test in processes mpi_messages; do
  arguments=("--gtest_filter=GpuProcesses*")
  if [[ $test == mpi_messages ]]; then arguments=("--gtest_filter=-GpuProcesses*" --thread_multiple); fi
  program=$folder/tests/bin/tutti_test_cuda_mpi_openmpi
  if mpirun=$(command -v mpirun.openmpi || command -v mpirun) && [[ -x $program ]]; then
    step "$test" "$mpirun" -n "$ranks" "$program" "${arguments[@]}"
  else
    skipped+=("$test: there is no Open MPI")
  fi
done
step c "$tutti" run -n 2 "$folder/tests/bin/tutti_test_c" cuda
if python3 -c 'import numpy, pytest' 2>/dev/null; then
  PYTHONPATH=$folder/python step python python3 -B -m pytest -q -p no:cacheprovider -p tutti._pytest_plugin \
    tests/python/test_cuda.py
else
  skipped+=("python: numpy or pytest is not installed")
fi
sweep() {
  local algorithms=auto,ring,direct
  if [[ " $* " != *" cuda:host "* ]]; then algorithms+=,native; fi
  if [[ $sweeps == no ]]; then return; fi
  step "sweep $*" "$tutti" sweep -C all_reduce,all_gather -a "$algorithms" -e 64M -f 32 "$@"
}
sweep --ranks "$gpus" --memory cuda
sweep --ranks "$gpus" --memory cuda --graph
if ((gpus == 1)); then # two processes may share it from NCCL 2.30 on
  export NCCL_MULTI_RANK_GPU_ENABLE=1 NCCL_MAX_CTAS=8
  sweep --ranks 2 --memory cuda
  sweep --ranks 2 --memory cuda --graph
fi
sweep --ranks 2 --memory cuda:host # which may share one
sweep --ranks 2 --memory cuda:host --buffers visible
if ((gpus > 1)); then
  sweep --ranks "$gpus" --memory cuda --buffers visible
else
  skipped+=("messages of NCCL between GPUs, and NCCL beside memory of peers: there is one GPU")
fi

echo
for each in "${skipped[@]}"; do echo "skipped: $each"; done
for each in "${failed[@]}"; do echo "failed: $each"; done
echo "$passed passed, ${#failed[@]} failed, ${#skipped[@]} skipped"
((${#failed[@]} == 0))
