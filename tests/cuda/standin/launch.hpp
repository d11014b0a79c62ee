/// @file
/// A kernel's run on the host.
#pragma once

#include "tests/cuda/standin/memory.hpp"
#include "tests/cuda/standin/module.hpp"

namespace tutti::standin {

/// Runs all threads of a kernel, one after the other, if all it touches is the device's own memory
/// or pinned.
/// @param function the kernel. @param work its argument. @param threads how many there are.
/// @param memory where its addresses lie. @param device that it runs on.
/// @return what fails the context, or success.
CUresult run_kernel(const Function& function, cuda::KernelWork work, std::size_t threads,
                    const Memory& memory, int device);

}  // namespace tutti::standin
