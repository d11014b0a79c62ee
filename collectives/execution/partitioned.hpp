/// @file
/// A partitioned request: a call whose data are made, and read, segment by segment.
#pragma once

#include <cstddef>

#include <tutti/spi/transport.hpp>

namespace tutti::v0::detail {

/// Makes the data of a call, or reads them, segment by segment, as in MPI's partitioned
/// communication. Called by the run's thread.
class Partitioned {
 public:
  Partitioned() = default;
  Partitioned(const Partitioned&) = delete;
  Partitioned& operator=(const Partitioned&) = delete;
  virtual ~Partitioned() = default;
  /// @return whether this rank may begin with a segment. If not, see Execution::resume.
  [[nodiscard]] virtual bool is_ready(std::size_t segment) noexcept = 0;
  /// A segment was not moved: Transport::signal is up to the callee. Comes before `arrived`, to
  /// ranks that only receive.
  virtual void stays(std::size_t segment, const Completion& wait) = 0;
  /// All of a segment has come.
  virtual void arrived(std::size_t segment) = 0;
};

}  // namespace tutti::v0::detail
