/// @file
/// The kernels of a device, which are loaded once per process.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include <tutti/types.hpp>

#include "driver.hpp"

namespace tutti::v0::cuda {

/// A kernel, and the shape of its launches.
struct Kernel {
  CUfunction function = nullptr;
  unsigned block = 0;        ///< Threads of a block.
  std::uint64_t blocks = 0;  ///< The most blocks that the whole device runs at once.
};

/// All kernels, in the context of a device, which has to be current when they end.
struct Kernels {
  std::array<Kernel, kDatatypes> folds{};  ///< By datatype; none of opaque.
  Kernel convert{};
  Kernel inspect{};
};

/// Loads the kernels, or finds those that are loaded already. The driver prepares each kernel now:
/// in a first launch it might wait for a stream that waits for this rank. @param device whose
/// context is current. @return not null. Throws Error{transport}.
[[nodiscard]] std::shared_ptr<const Kernels> kernels_of(const std::shared_ptr<const Driver>& driver,
                                                        CUdevice device);

}  // namespace tutti::v0::cuda
