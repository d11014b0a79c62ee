#include "chosen_device.hpp"

#include <tutti/error.hpp>

namespace tutti::v0::cuda {

int chosen_device(const Driver& driver, int wanted) {
  if (wanted >= 0) return wanted;
  CUdevice current = 0;
  if (driver.calls().current_device(&current) == CUDA_SUCCESS) return current;
  const int devices = driver.devices();
  if (devices == 1) return 0;
  throw Error{ErrorCode::invalid_argument,
              "the process sees " + std::to_string(devices) +
                  " GPUs; say which by Options::device, or make the context of one current, by "
                  "cudaSetDevice and, before CUDA 12, cudaFree(0)"};
}

}  // namespace tutti::v0::cuda
