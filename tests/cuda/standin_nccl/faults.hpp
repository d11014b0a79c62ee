/// @file
/// Counts the calls of NCCL's functions, and makes calls fail.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace tutti::nccl_standin {

/// Settings in the environment. CUDA_STANDIN_FAULT: calls that fail. CUDA_STANDIN_CALLS and
/// CUDA_STANDIN_LEAKS: files to which is appended when the process ends, all calls and what was not
/// given back; %p in their names is the number of the process. CUDA_STANDIN_NCCL_VERSION: the
/// result of ncclGetVersion, such as 22300; see CMakeLists.txt for a library that has no newer
/// functions. NCCL_MULTI_RANK_GPU_ENABLE: 1 lets ranks of one communicator have the same device.
/// CUDA_STANDIN_SYMMETRIC: 0 gives out no windows, as NCCL where ranks do not see each other's
/// memory. CUDA_STANDIN_CONNECT: "at_call" has the first call of a communicator in progress until
/// all its ranks have called, as NCCL connects those that exchange something.
/// CUDA_STANDIN_NCCL_KERNELS: how many kernels of NCCL run at once on a device; each keeps its
/// share while it waits for peers, and all of them together leave none for kernels of programs.
/// CUDA_STANDIN_NCCL_SPINS: 1 has a kernel of NCCL whose peer is gone run until it is aborted, as
/// real ones do, instead of failing. @param name such as "FAULT". @return the value of that
/// variable, or an empty text.
std::string setting(std::string_view name);
/// The same of any variable, such as NCCL's own.
std::string variable(std::string_view name);

class Calls {
 public:
  /// @param faults the calls that are to fail, such as "ncclSend:2,ncclGroupEnd:1"; counted from
  /// one. Other texts are ignored.
  explicit Calls(std::string_view faults);

  /// Counts a call. @return whether this one is to fail.
  bool count(std::string_view function);

  /// Writes a line "function count" for every function that was called.
  void write(std::ostream& out) const;

 private:
  std::set<std::pair<std::string, std::uint64_t>> faults_;
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t, std::less<>> counts_;
};

}  // namespace tutti::nccl_standin
