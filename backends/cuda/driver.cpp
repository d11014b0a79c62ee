#include "driver.hpp"

#include <array>

#include <tutti/error.hpp>

namespace tutti::v0::cuda {

Driver::Driver() {
  check(calls_.init(0), "start the CUDA driver");
}

void Driver::check(CUresult result, const char* what) const {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  const char* words = nullptr;
  calls_.error_name(result, &name);
  calls_.error_string(result, &words);
  std::string text = std::string{"cannot "} + what + ": ";
  text += name == nullptr ? "error " + std::to_string(result) : name;
  if (words != nullptr) text += std::string{", "} + words;
  throw Error{ErrorCode::transport, text};
}

std::string Driver::version() const {
  int version = 0;
  check(calls_.driver_version(&version), "ask the CUDA driver for its version");
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int Driver::devices() const {
  int count = 0;
  check(calls_.device_count(&count), "count GPUs");
  return count;
}

int Driver::choose(int wanted) const {
  if (wanted >= 0) return wanted;
  CUdevice current = 0;
  if (calls_.current_device(&current) == CUDA_SUCCESS) return current;
  const int known = devices();
  if (known == 1) return 0;
  throw Error{ErrorCode::invalid_argument,
              "the process sees " + std::to_string(known) +
                  " GPUs; set AttachOptions::device, or make the context of one current, by "
                  "cudaSetDevice and, before CUDA 12, cudaFree(0)"};
}

CUdevice Driver::device(int ordinal) const {
  CUdevice device = 0;
  check(calls_.device(&device, ordinal), "find a GPU");
  return device;
}

std::string Driver::name_of(CUdevice device) const {
  std::array<char, 128> name{};
  check(calls_.device_name(name.data(), static_cast<int>(name.size()), device),
        "ask a GPU for its name");
  return name.data();
}

int Driver::attribute(CUdevice_attribute attribute, CUdevice device) const {
  int value = 0;
  check(calls_.device_attribute(&value, attribute, device), "ask a GPU for an attribute");
  return value;
}

}  // namespace tutti::v0::cuda
