#include "kernels.hpp"

#include <map>
#include <mutex>
#include <string>

namespace tutti::v0::cuda {
namespace {

#include "kernels.fatbin.c"

constexpr unsigned kBlock = 256;
/// Inspectors are few; short blocks spread them over more of the device's processors.
constexpr unsigned kInspectorsBlock = 128;

Kernel find(const Driver& driver, CUmodule module, CUdevice device, const std::string& name,
            unsigned block) {
  Kernel kernel{.block = block};
  int fitting = 0;
  const int processors = driver.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  const DriverCalls& calls = driver.calls();
  driver.check(calls.function(&kernel.function, module, name.c_str()),
               "find one of tutti's kernels");
  driver.check(calls.occupancy(&fitting, kernel.function, static_cast<int>(block), 0),
               "ask how many blocks of a kernel run at once");
  kernel.blocks = static_cast<std::uint64_t>(fitting) * static_cast<std::uint64_t>(processors);
  return kernel;
}

std::shared_ptr<const Kernels> load(const std::shared_ptr<const Driver>& driver, CUdevice device) {
  CUmodule module = nullptr;
  driver->check(driver->calls().load_module(&module, kKernels), "load tutti's kernels");
  const std::shared_ptr<Kernels> kernels{new Kernels, [driver, module](const Kernels* loaded) {
                                           driver->calls().unload_module(module);
                                           delete loaded;
                                         }};
  for (std::size_t type = 0; type < static_cast<std::size_t>(Datatype::opaque); ++type) {
    const std::string name{name_of(static_cast<Datatype>(type))};
    kernels->folds.at(type) = find(*driver, module, device, "tutti_fold_" + name, kBlock);
  }
  kernels->convert = find(*driver, module, device, "tutti_convert", kBlock);
  kernels->inspect = find(*driver, module, device, "tutti_inspect", kInspectorsBlock);
  return kernels;
}

}  // namespace

std::shared_ptr<const Kernels> kernels_of(const std::shared_ptr<const Driver>& driver,
                                          CUdevice device) {
  static std::mutex mutex;
  static std::map<CUdevice, std::weak_ptr<const Kernels>> loaded;
  const std::scoped_lock lock{mutex};
  std::shared_ptr<const Kernels> kernels = loaded[device].lock();
  if (kernels == nullptr) loaded[device] = kernels = load(driver, device);
  return kernels;
}

}  // namespace tutti::v0::cuda
