/// @file
/// The kernels, as the driver loads them.
#pragma once

namespace tutti::inline v0::cuda {

/// @return the image, which lasts for ever. Its functions are tutti_fold_<datatype>.
[[nodiscard]] const void* kernel_image() noexcept;

}  // namespace tutti::inline v0::cuda
