/// @file
/// The kernels of a device, loaded once for all that use it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include <tutti/types.hpp>

#include "driver.hpp"

namespace tutti::v0::cuda {

/// A kernel, and how it is launched.
struct Kernel {
  CUfunction function = nullptr;
  unsigned block = 0;        ///< Threads of a block.
  std::uint64_t blocks = 0;  ///< As many as the whole device runs at once; further ones would wait.
};

/// All kernels, in the context of a device. They end in that context, which then has to be current.
struct Kernels {
  std::array<Kernel, kDatatypes> folds{};  ///< By datatype; none of opaque.
  Kernel convert{};
  Kernel inspect{};
};

/// Loads the kernels, or finds those that another user in this process has loaded. The driver makes
/// each ready as it is found: at a first launch it might wait for a stream that waits for us.
/// @param device whose context is current. @return them, not null. Throws Error{transport}.
[[nodiscard]] std::shared_ptr<const Kernels> kernels_of(const std::shared_ptr<const Driver>& driver,
                                                        CUdevice device);

}  // namespace tutti::v0::cuda
