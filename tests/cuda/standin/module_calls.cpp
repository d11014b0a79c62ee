// The driver's functions of modules and kernels.
#include <array>
#include <mutex>
#include <utility>

#include "tests/cuda/standin/driver.hpp"
#include "tests/cuda/standin/hooks.hpp"

using namespace tutti::standin;

namespace {

constexpr std::size_t kMostThreadsPerBlock = 1024;
constexpr std::size_t kMostSharedBytes = 48 << 10;
constexpr int kRegisters = 48;
constexpr int kRegistersOfProcessor = 65'536;

/// How many threads a kernel is launched with.
struct Extent {
  std::size_t x, y, z;

  std::size_t product() const noexcept { return x * y * z; }
};

bool may_launch(const Extent& grid, const Extent& block) {
  return grid.product() > 0 && grid.x <= 0x7fffffff && grid.y <= 65535 && grid.z <= 65535 &&
         block.product() > 0 && block.product() <= kMostThreadsPerBlock && block.z <= 64;
}

}  // namespace

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return call_outside_captures(__func__, [&](Context& context) {
    if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::scoped_lock alone{context.enqueuing()};
    driver().streams.wait_for(context.device());  // as the driver does
    *module = driver().modules.add(std::make_shared<Module>(context));
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleUnload(CUmodule module) {
  return call_that_releases_outside_captures(__func__, [&](Context&) {
    const auto taken = driver().modules.pop(module);
    if (taken == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    taken->unload(driver().functions);
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return call_in_context(__func__, [&](Context&) {
    if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto found = driver().modules.find(module);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *function = found->find(name, driver().functions);
    return *function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function,
                                                     int block_threads, size_t shared_bytes) {
  return call_in_context(__func__, [&](Context&) {
    if (blocks == nullptr || block_threads <= 0 ||
        static_cast<std::size_t>(block_threads) > kMostThreadsPerBlock ||
        shared_bytes > kMostSharedBytes)
      return CUDA_ERROR_INVALID_VALUE;
    if (driver().functions.find(function) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *blocks = kRegistersOfProcessor / (kRegisters * block_threads);
    return CUDA_SUCCESS;
  });
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                        unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                        void** parameters, void** extra) {
  return call_on_stream(__func__, stream, [&](Stream& on) {
    const auto kernel = driver().functions.find(function);
    if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const Extent grid{grid_x, grid_y, grid_z};
    const Extent block{block_x, block_y, block_z};
    if (parameters == nullptr || parameters[0] == nullptr || extra != nullptr ||
        shared_bytes > kMostSharedBytes || !may_launch(grid, block))
      return CUDA_ERROR_INVALID_VALUE;
    driver().newest_threads = grid.product() * block.product();
    return submit(
        on, {.run = [run = kernel->bind(parameters[0]), threads = grid.product() * block.product(),
                     device = on.context().device()](const Stream& runs_on) {
          driver().processors.await_room(device, runs_on);
          return run(threads, driver().memory, device);
        }});
  });
}

void tutti_standin_occupy(int device, bool all) {
  driver().processors.occupy(device, all);
}

std::size_t tutti_standin_threads() {
  return driver().newest_threads;
}

std::size_t tutti_standin_calls(const char* function) {
  return driver().calls.count_of(function);
}
