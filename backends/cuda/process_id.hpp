/// @file
/// The identity of a process.
#pragma once

#include <array>
#include <cstdint>

namespace tutti::v0::cuda {

/// Equal for ranks that are threads of one process.
struct ProcessId {
  std::array<char, 64> system{};  ///< CUDA IPC connects only processes of one system.
  std::uint64_t processes = 0;    ///< The process namespace of the number.
  std::int64_t number = 0;
  friend bool operator==(const ProcessId&, const ProcessId&) = default;
};
/// @return the identity of the calling process.
[[nodiscard]] ProcessId this_process();

}  // namespace tutti::v0::cuda
