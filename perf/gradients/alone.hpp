/// @file
/// Times of buckets without computation, for the ideal step.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <string>

#include <tutti/communicator.hpp>

namespace tutti::perf {

/// The properties that the time of an all_reduce depends on.
struct BucketShape {
  std::size_t count = 0;          ///< Elements.
  Datatype type = Datatype::f32;  ///< Element type.
  bool is_visible = false;        ///< Whether they are in memory that peers see.
  std::string algorithm{};        ///< As Options::algorithm.
  /// Compares all members.
  auto operator<=>(const BucketShape&) const = default;
};

/// Times of all_reduce. Each is measured once.
class AloneTimes {
 public:
  /// @param world must outlive this object.
  explicit AloneTimes(Communicator& world) : world_{world} {}
  /// Collective. @param shape the same on all ranks. @return seconds, the same on all ranks.
  [[nodiscard]] double seconds(const BucketShape& shape);

 private:
  Communicator& world_;
  std::map<BucketShape, double> known_{};
};

}  // namespace tutti::perf
