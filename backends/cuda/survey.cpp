#include "survey.hpp"

#include <array>

#include <tutti/error.hpp>

#include "driver.hpp"
#include "nccl.hpp"
#include "placement.hpp"

namespace tutti::v0::cuda {
namespace {

Gpu gpu_of(const Driver& driver, int ordinal) {
  const CUdevice device = driver.device(ordinal);
  Gpu gpu{.name = driver.name_of(device)};
  driver.check(driver.calls().device_memory(&gpu.bytes, device), "ask a GPU for its memory");
  gpu.capability =
      std::to_string(driver.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)) + "." +
      std::to_string(driver.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
  return gpu;
}

std::vector<std::string> links_of(const Driver& driver, int ordinal, int devices) {
  constexpr std::array kNames{"none", "P2P", "NVLink"};
  std::vector<std::string> links;
  for (int other = 0; other < devices; ++other)
    links.emplace_back(other == ordinal
                           ? "-"
                           : kNames.at(static_cast<std::size_t>(link_of(driver, ordinal, other))));
  return links;
}

}  // namespace

Survey survey() {
  Survey found;
  try {
    const Driver driver;
    found.driver = driver.version();
    const int devices = driver.devices();
    for (int ordinal = 0; ordinal < devices; ++ordinal) {
      found.gpus.push_back(gpu_of(driver, ordinal));
      found.links.push_back(links_of(driver, ordinal, devices));
    }
  } catch (const Error& error) {
    found.why_no_driver = error.what();
  }
  try {
    found.nccl = Nccl{}.version();
  } catch (const Error& error) {
    found.why_no_nccl = error.what();
  }
  return found;
}

}  // namespace tutti::v0::cuda
