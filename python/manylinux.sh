#!/usr/bin/env bash
# Builds the wheel of the last commit in a container of the image quay.io/pypa/manylinux_2_28_*, as root: python/wheel.sh
# --container runs it. The image has OpenSSL 1.1 and older packages of headers, so this installs the versions of Debian 12,
# with which tutti is tested. Untried: it was written where no container runs.
set -euo pipefail
tree=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
sources=$(mktemp -d)
prefix=/opt/tutti-packages

# get REPOSITORY TAG: the sources of a release, in a folder of the repository's name.
get() {
  git -c advice.detachedHead=false clone --quiet --depth 1 --branch "$2" "https://github.com/$1" "$sources/${1##*/}"
}

# install_headers REPOSITORY TAG OPTION OF CMAKE ...; CMake 4 needs the policy for projects that ask for an older one.
install_headers() {
  get "$1" "$2"
  cmake -S "$sources/${1##*/}" -B "$sources/build-${1##*/}" -DCMAKE_INSTALL_PREFIX=$prefix \
    -DCMAKE_POLICY_VERSION_MINIMUM=3.5 "${@:3}"
  cmake --build "$sources/build-${1##*/}" --target install
}

dnf install --assumeyes --quiet expat-devel perl-core
install_headers nlohmann/json v3.11.2 -DJSON_BuildTests=OFF
install_headers fmtlib/fmt 9.1.0 -DFMT_TEST=OFF -DFMT_DOC=OFF
install_headers CLIUtils/CLI11 v2.1.2 -DCLI11_BUILD_TESTS=OFF -DCLI11_BUILD_EXAMPLES=OFF
get openssl/openssl openssl-3.0.19
(cd "$sources/openssl" && ./Configure --prefix=$prefix --libdir=lib no-tests && make -j"$(nproc)" && make install_sw) >/dev/null
export CMAKE_PREFIX_PATH=$prefix LD_LIBRARY_PATH=$prefix/lib
# A clone, since build/ may have the caches of CMake of another system.
git config --global --add safe.directory "$tree"
git clone --quiet --depth 1 "file://$tree" "$sources/tutti"
"$sources/tutti/python/wheel.sh" --no-tests --python /opt/python/cp311-cp311/bin/python3
mkdir -p "$tree/build/wheels"
cp --verbose "$sources"/tutti/build/wheels/*-manylinux_2_28_*.whl "$tree/build/wheels"
