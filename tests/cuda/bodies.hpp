/// @file
/// The bodies of kernels, compiled for the host.
#pragma once

#include <cstddef>
#include <string_view>

#include <tutti/spi/stream_arrays.hpp>

#include "backends/cuda/kernel_work.hpp"

namespace tutti::v0::cuda {

/// The work of one thread of a kernel: see fold.
using Body = void (*)(const KernelWork& work, std::size_t thread, std::size_t threads);

/// @param name of a kernel, such as "tutti_fold_f32". @return its body; null if there is none.
[[nodiscard]] Body body_of(std::string_view name) noexcept;

/// The work of one thread of tutti_convert.
void convert_body(const Conversion& work, std::size_t thread, std::size_t threads);
/// The work of one thread of tutti_inspect.
void inspect_body(const Inspection& work, std::size_t thread, std::size_t threads);

}  // namespace tutti::v0::cuda
