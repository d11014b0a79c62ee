/// @file
/// A survey of this machine's GPUs and their libraries, for people.
#pragma once

#include <string>
#include <vector>

#include <tutti/version.hpp>

namespace tutti::v0::cuda {

struct Gpu {
  std::string name{};        ///< Such as "NVIDIA H100 80GB HBM3".
  std::string capability{};  ///< Its compute capability, such as "9.0".
  std::size_t bytes = 0;     ///< Bytes of its memory.
};

/// The GPUs and libraries. If a library is missing, its version is empty, and the reason is set.
struct Survey {
  std::string driver{};  ///< Version of the CUDA driver, such as "13.0".
  std::string why_no_driver{};
  std::string nccl{};  ///< Version of NCCL, such as "2.28.3".
  std::string why_no_nccl{};
  std::vector<Gpu> gpus{};  ///< The GPUs that this process sees.
  /// The link of each GPU to each other one: "NVLink", "P2P" (over PCIe) or "none"; "-" to itself.
  std::vector<std::vector<std::string>> links{};
};

/// Loads the libraries. Throws nothing but std::bad_alloc.
[[nodiscard]] Survey survey();

}  // namespace tutti::v0::cuda
