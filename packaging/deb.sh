#!/usr/bin/env bash
# Builds the packages of Debian: build/packages/packages/*.deb. Compiles for some minutes.
#   --rpm           builds RPMs too, or alone where there is no dpkg; needs rpmbuild
#   --build FOLDER  builds there instead of in build/packages
#   --jobs N        compiles N files at once
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  echo "usage: packaging/deb.sh [--rpm] [--build FOLDER] [--jobs N]; wrong: $1" >&2
  exit 2
}

build=build/packages
kinds=()
jobs=$(nproc)
if command -v dpkg-shlibdeps >/dev/null && command -v file >/dev/null; then kinds+=(DEB); fi
while (($# > 0)); do
  case $1 in
    --rpm)
      command -v rpmbuild >/dev/null || usage "--rpm, since there is no rpmbuild"
      kinds+=(RPM)
      ;;
    --build)
      build=${2-}
      shift
      ;;
    --jobs)
      jobs=${2-}
      shift
      ;;
    *) usage "$1" ;;
  esac
  shift
done
if ((${#kinds[@]} == 0)); then
  echo "packaging/deb.sh needs Debian's packages dpkg-dev and file" >&2
  exit 4
fi

# Kernels of GPUs are left out: they need the CUDA toolkit, and make the packages larger than their users want.
python=$(PATH=/usr/bin command -v python3)  # of the system, whose packages these are
cmake -S . -B "$build" -G Ninja -DPython3_EXECUTABLE="$python" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr \
  -DBUILD_SHARED_LIBS=ON -DTUTTI_PACKAGES=ON -DTUTTI_BUILD_TESTS=OFF -DTUTTI_BUILD_MPI=OFF -DTUTTI_BUILD_CUDA=OFF
cmake --build "$build" --parallel "$jobs"
for kind in "${kinds[@]}"; do
  (cd "$build" && cpack -G "$kind")
done
ls -l "$build"/packages
