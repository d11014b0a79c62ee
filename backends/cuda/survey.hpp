/// @file
/// What there is for GPUs on this machine, and what is missing, for a person.
#pragma once

#include <string>
#include <vector>

#include <tutti/version.hpp>

namespace tutti::v0::cuda {

/// A GPU.
struct Gpu {
  std::string name{};        ///< Such as "NVIDIA H100 80GB HBM3".
  std::string capability{};  ///< Its compute capability, such as "9.0".
  std::size_t bytes = 0;     ///< Of its memory.
};

/// What was found. Each thing that is missing has its reason instead.
struct Survey {
  std::string driver{};  ///< Version of the CUDA driver, such as "13.0"; empty: none.
  std::string why_no_driver{};
  std::string nccl{};  ///< Version of NCCL, such as "2.28.3"; empty: none.
  std::string why_no_nccl{};
  std::vector<Gpu> gpus{};  ///< That this process sees.
  /// What joins each GPU with each other one: "NVLink", "P2P", over PCIe, or "none"; with itself
  /// "-".
  std::vector<std::vector<std::string>> links{};
};

/// Loads the libraries and looks. @return what is there. Throws nothing but std::bad_alloc.
[[nodiscard]] Survey survey();

}  // namespace tutti::v0::cuda
