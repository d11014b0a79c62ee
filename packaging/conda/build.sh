#!/usr/bin/env bash
# Called by conda-build, which sets the variables.
set -euo pipefail
# shellcheck disable=SC2086,SC2154
cmake ${CMAKE_ARGS-} -S . -B build/conda -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PREFIX" \
  -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=ON -DTUTTI_BUILD_TESTS=OFF -DTUTTI_BUILD_MPI=OFF -DTUTTI_BUILD_CUDA=OFF
# shellcheck disable=SC2154
cmake --build build/conda --parallel "$CPU_COUNT"
cmake --install build/conda
