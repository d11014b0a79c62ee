/// @file
/// The kernels, as the driver loads them.
#pragma once

#include <tutti/version.hpp>

namespace tutti::v0::cuda {

/// @return the image, which lasts for ever. Its functions are tutti_fold_<datatype>.
[[nodiscard]] const void* kernel_image() noexcept;

}  // namespace tutti::v0::cuda
