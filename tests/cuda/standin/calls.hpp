/// @file
/// Counts the calls of the driver's functions, and makes one call fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>

namespace tutti::standin {

/// Settings in the environment. CUDA_STANDIN_DEVICES: number of devices, 1 by default.
/// CUDA_STANDIN_FAULT: "function:n", whose n-th call fails. CUDA_STANDIN_CALLS and
/// CUDA_STANDIN_LEAKS: files that are written when the process ends, with all calls and with what
/// was not given back; %p in their names is the number of the process. CUDA_STANDIN_LINKS: see
/// Links. CUDA_STANDIN_QUEUES: see Streams; 0 by default. CUDA_STANDIN_LACKS: what devices cannot
/// do, "pools", "memops" or "ipc". CUDA_STANDIN_DEAD: see Windows. @param name such as "DEVICES".
/// @return the value of that variable, or an empty text.
std::string setting(std::string_view name);
/// @return that value as a number; 0 if there is none.
std::size_t number_setting(std::string_view name);

class Calls {
 public:
  /// Reads CUDA_STANDIN_FAULT, such as "cuMemAlloc_v2:3".
  Calls();

  /// Counts a call. @return whether this one is to fail.
  bool count(std::string_view function);

  /// @return how often a function was called.
  std::uint64_t count_of(std::string_view function) const;
  /// Writes a line "function count" for every function that was called.
  void write(std::ostream& out) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t, std::less<>> counts_;
  std::string faulty_;             ///< The function that fails once; empty: none.
  std::uint64_t faulty_call_ = 0;  ///< Its call that fails, from one.
};

}  // namespace tutti::standin
