/// @file
/// Written-down schedules: read from JSON, as `tutti show --format json` writes it, or from XML of
/// MSCCL, and added to a catalog. docs/schedules.md describes the fields. The library
/// `tutti::schedules` has the functions of this header.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tutti/export.hpp>
#include <tutti/spi/catalog.hpp>

namespace tutti::v0 {

/// The position of a step in a file of XML.
struct WrittenPlace {
  std::int64_t block = -1;  ///< The id of its threadblock.
  std::int64_t step = -1;   ///< Position of the step in it, from 0.
};

/// The content of one file: the schedules of all ranks, for one number of ranks and one root.
struct WrittenSchedules {
  std::string name{};                 ///< Name of the algorithm in the file.
  Collective collective{};            ///< Its collective.
  Rank root = 0;                      ///< Root of rooted collectives.
  std::vector<Schedule> schedules{};  ///< One schedule of every rank, in order.
  /// The position of each step of each schedule in XML without tutti's own attributes, in order.
  std::vector<std::vector<WrittenPlace>> places{};
};

/// Reads JSON. Throws Error{invalid_argument} with the missing or invalid part and its position.
/// The result is not proved yet. Safe with any bytes; thread-safe. @param text at most some hundred
/// megabytes.
[[nodiscard]] TUTTI_API WrittenSchedules read_json_schedules(std::string_view text);

/// Reads XML of MSCCL, by tutti or by other programs. Throws as read_json_schedules. Rounds are
/// derived from dependencies if the file has none.
[[nodiscard]] TUTTI_API WrittenSchedules read_msccl_schedules(std::string_view text);

/// Algorithms read from one file or several, for a catalog. A value.
class TUTTI_API WrittenAlgorithms {
 public:
  /// Proves schedules, and adds them. Schedules of one name and collective are one algorithm, for
  /// their numbers of ranks and roots, with the traits that hold for all of them. Throws
  /// Error{invalid_argument} with the first fault.
  /// @param written its name becomes a valid one: `bruck:k=2` is bruck_k_2.
  /// @param source for the summary, such as the name of a file.
  void add(WrittenSchedules written, std::string_view source);

  /// Adds all algorithms to a catalog. Throws as Catalog::add, with their sources; some may then
  /// have been added.
  void add_to(Catalog& catalog) const;

 private:
  struct Entry {
    ScheduleTable table{};
    Traits traits{};
    std::string sources{};
  };
  std::map<std::pair<Collective, std::string>, Entry> entries_{};
};

}  // namespace tutti::v0
