# The packages and the environment of perf/run.sh and tests/run.sh. Sourced by bash.
# shellcheck shell=bash

# The one list of the Debian packages that building, testing, measuring and plotting need.
TUTTI_MPI_PACKAGES=(openmpi-bin libopenmpi-dev libpmix-dev mpich libmpich-dev)
TUTTI_PACKAGES=(
  g++ gfortran clang libclang-rt-14-dev cmake ninja-build ccache pkg-config
  libssl-dev libhwloc-dev libcereal-dev libgtest-dev libcli11-dev libfmt-dev nlohmann-json3-dev libexpat1-dev
  libsimgrid-dev
  "${TUTTI_MPI_PACKAGES[@]}"
  python3 python3-dev python3-matplotlib python3-venv doxygen iproute2
)
# What packaging/deb.sh needs beside a compiler and the libraries.
# shellcheck disable=SC2034
TUTTI_DEB_PACKAGES=(dpkg-dev file)

# Installs what is missing; without root it prints the one line that would, and exits 4. Arguments are
# packages without which it goes on then, and says so.
tutti_install_packages() {
  local package missing=() needed=()
  for package in "${TUTTI_PACKAGES[@]}"; do
    # The status ends with "installed" for a package that is there and whole.
    if [[ $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) != *" installed" ]]; then
      missing+=("$package")
      if [[ " $* " != *" $package "* ]]; then needed+=("$package"); fi
    fi
  done
  if ((${#missing[@]} == 0)); then
    return
  fi
  if ((EUID != 0 && ${#needed[@]} == 0)); then
    echo "== going on without what only root can: apt-get install --yes ${missing[*]}"
    return
  fi
  if ! command -v apt-get >/dev/null; then
    echo "tutti needs packages of these names in Debian: ${missing[*]}" >&2
    exit 4
  fi
  if ((EUID != 0)); then
    echo "Some packages are missing. Run this once, then try again:" >&2
    echo "  sudo apt-get install --yes ${missing[*]}" >&2
    exit 4
  fi
  echo "== installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update --quiet
  apt-get install --quiet --yes --no-install-recommends "${missing[@]}"
}

# Only tests need these: a browser for the pages of sweeps, and packages of Python.
tutti_install_test_tools() {
  TUTTI_PACKAGES+=(chromium)
  tutti_install_packages
  if [[ ! -x build/python/bin/python3 ]]; then python3 -m venv build/python; fi
  if ! build/python/bin/python3 -c 'import cloudpickle, mypy, numpy, plotly, pytest, scikit_build_core' 2>/dev/null; then
    echo "== installing packages into build/python"
    build/python/bin/pip install --quiet --disable-pip-version-check cloudpickle mypy numpy 'plotly>=5' pytest \
      'scikit-build-core>=0.11'
  fi
}

# Sets what the tools need: Open MPI refuses to run as root and to start more ranks than cores
# unless it is told to, and ccache and matplotlib keep things in a home that can be written.
# Open MPI 4's jobs share a folder, which the first makes and the last removes; one that makes it at the
# same moment as another dies. A file in the folder keeps it.
tutti_set_environment() {
  local host
  host=$(uname -n)
  (umask 077; mkdir -p "${TMPDIR:-/tmp}/ompi.${host%%.*}.$(id -u)/tutti")
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export OMPI_MCA_rmaps_base_oversubscribe=1
  if [[ -z ${HOME-} || ! -w ${HOME-} ]]; then
    export HOME=$PWD/build/home
    mkdir -p "$HOME"
  fi
}

# Configures and builds a preset: tutti_build PRESET [ARGUMENT OF CMAKE --build ...]
tutti_build() {
  local preset=$1
  shift
  echo "== building preset $preset"
  cmake --preset "$preset" && cmake --build --preset "$preset" "$@"
}
