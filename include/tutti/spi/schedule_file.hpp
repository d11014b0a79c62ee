/// @file
/// Schedules that are written down: read from JSON, as `tutti show --format json` writes it, or
/// from XML of MSCCL, and added to a catalog. docs/schedules.md says what each field means. The
/// library `tutti::schedules` has what is declared here.
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

/// Where a step stands in a file of XML.
struct WrittenPlace {
  std::int64_t block = -1;  ///< The id of its threadblock.
  std::int64_t step = -1;   ///< Which step of that, from 0.
};

/// What one file says: the schedules of all ranks, for one number of ranks and one root.
struct WrittenSchedules {
  std::string name{};                 ///< Of the algorithm, as the file has it.
  Collective collective{};            ///< What it computes.
  Rank root = 0;                      ///< Of rooted collectives.
  std::vector<Schedule> schedules{};  ///< One of every rank, in order.
  /// The place of each step of each schedule in XML without tutti's own attributes, in order.
  std::vector<std::vector<WrittenPlace>> places{};
};

/// Reads JSON. Throws Error{invalid_argument} that says what is missing, or cannot be, and where.
/// What is read is not proved yet. Safe with any bytes, and from several threads.
/// @param text of the file, at most some hundred megabytes. @return what it says.
[[nodiscard]] TUTTI_API WrittenSchedules read_json_schedules(std::string_view text);

/// Reads XML of MSCCL, which tutti wrote, or others. Throws as read_json_schedules.
/// @param text of the file. @return what it says; rounds are found where it has none.
[[nodiscard]] TUTTI_API WrittenSchedules read_msccl_schedules(std::string_view text);

/// Algorithms that are written down in one file or several, on their way to a catalog. A value.
class TUTTI_API WrittenAlgorithms {
 public:
  /// Proves schedules, and takes them. Those of one name and collective are one algorithm, which
  /// serves the numbers of ranks, and roots, for which there are any, and has the traits that hold
  /// for all of them. Throws Error{invalid_argument} with the first thing that is wrong.
  /// @param written any. A name becomes one that a catalog takes: `bruck:k=2` is bruck_k_2.
  /// @param source of the summary: where they come from, such as the name of a file.
  void add(WrittenSchedules written, std::string_view source);

  /// Adds all algorithms to a catalog. Throws as Catalog::add, with their sources before that; then
  /// some may have been added. @param catalog to choose from.
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
