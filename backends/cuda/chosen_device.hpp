/// @file
/// Which GPU a thread means that does not say.
#pragma once

#include "driver.hpp"

namespace tutti::v0::cuda {

/// @param driver of the process. @param wanted a GPU, as cudaGetDevice counts them; -1: the calling
/// thread's current one, or else the only one that the process sees. @return it. Throws
/// Error{invalid_argument} where there are several and none is current.
[[nodiscard]] int chosen_device(const Driver& driver, int wanted);

}  // namespace tutti::v0::cuda
