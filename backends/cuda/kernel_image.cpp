#include "kernel_image.hpp"

namespace tutti::v0::cuda {
namespace {

#include "kernels.fatbin.c"

}  // namespace

const void* kernel_image() noexcept {
  return kKernels;
}

}  // namespace tutti::v0::cuda
