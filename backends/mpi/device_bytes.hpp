/// @file
/// Whether an MPI takes memory of a GPU.
#pragma once

#include <cstddef>

#include <tutti/version.hpp>

namespace tutti::v0::mpi {

/// @return as Capabilities::device_bytes: what is too long for the first message the MPI moves by
/// itself, from where it lies, and if it says that it is CUDA-aware that may be a GPU.
[[nodiscard]] std::size_t device_bytes() noexcept;

}  // namespace tutti::v0::mpi
