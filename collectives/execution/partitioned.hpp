/// @file
/// A partitioned request: a call whose data the program writes and reads segment by segment.
#pragma once

#include <cstddef>

#include <tutti/spi/transport.hpp>

namespace tutti::v0::detail {

/// Writes the data of a call, or reads them, segment by segment, as in MPI's partitioned
/// communication. Its functions are called by the thread that runs the call.
class Partitioned {
 public:
  Partitioned() = default;
  Partitioned(const Partitioned&) = delete;
  Partitioned& operator=(const Partitioned&) = delete;
  virtual ~Partitioned() = default;
  /// @return whether this rank may begin with a segment. If not, see Execution::resume.
  [[nodiscard]] virtual bool is_ready(std::size_t segment) noexcept = 0;
  /// Called before `arrived`, on ranks that only receive, for a segment that stays in the sender's
  /// memory: the callee must call Transport::signal.
  virtual void stays(std::size_t segment, const Completion& wait) = 0;
  /// Called when all of a segment has arrived.
  virtual void arrived(std::size_t segment) = 0;
};

}  // namespace tutti::v0::detail
