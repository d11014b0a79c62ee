/// @file
/// How long buckets take where nothing else runs, for the ideal step.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <string>

#include <tutti/communicator.hpp>

namespace tutti::perf {

/// What the time of an all_reduce depends on.
struct BucketShape {
  std::size_t count = 0;          ///< Elements.
  Datatype type = Datatype::f32;  ///< Of them.
  bool is_visible = false;        ///< Whether they lie in memory that peers see.
  std::string algorithm{};        ///< As Options::algorithm.
  /// Compares all of them.
  auto operator<=>(const BucketShape&) const = default;
};

/// Times of all_reduce, each measured once.
class AloneTimes {
 public:
  /// @param world the ranks; it must live.
  explicit AloneTimes(Communicator& world) : world_{world} {}
  /// Collective, with the same shape on all ranks. @param shape of a bucket. @return seconds, the
  /// same on all ranks.
  [[nodiscard]] double seconds(const BucketShape& shape);

 private:
  Communicator& world_;
  std::map<BucketShape, double> known_{};
};

}  // namespace tutti::perf
