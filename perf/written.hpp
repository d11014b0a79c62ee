/// @file
/// Schedules as files write them down.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/algorithm.hpp>

namespace tutti::perf {

/// What one file says: the schedules of all ranks, for one root.
struct Written {
  std::string name{};                 ///< Of the algorithm, as the file has it.
  Collective collective{};            ///< What it computes.
  Rank root = 0;                      ///< Of rooted collectives.
  std::vector<Schedule> schedules{};  ///< One of every rank, in order.
};

/// The numbers that every step must keep to.
struct WrittenShape {
  std::int64_t size = 0;    ///< Number of ranks.
  std::int64_t root = 0;    ///< The root.
  std::int64_t units = 0;   ///< As Schedule::units.
  std::int64_t planes = 0;  ///< As Schedule::planes.
};

/// One step, word by word; what its kind does not have is ignored.
struct WrittenStep {
  std::string_view kind{};         ///< "send", "recv", "recv_reduce", "reduce", "copy", "finish".
  std::int64_t peer = -1;          ///< Of messages.
  std::string_view space{};        ///< "in", "out" or "scratch".
  std::int64_t first = -1;         ///< First slot.
  std::int64_t count = -1;         ///< How many slots.
  std::string_view from_space{};   ///< Of reduce and copy.
  std::int64_t from_first = -1;    ///< Likewise.
  std::string_view side = "left";  ///< Of reductions.
};

/// Throws Error{invalid_argument}. @param message what is wrong with what was written.
[[noreturn]] void refuse_written(const std::string& message);

/// Refuses numbers that no schedule has, and such as would fill the memory. Throws
/// Error{invalid_argument}. @param shape as a file has it.
void check(const WrittenShape& shape);

/// Makes a step. Throws Error{invalid_argument} that says what is wrong with it.
/// @param step as a file has it. @param shape that was checked. @return it.
[[nodiscard]] Step step_of(const WrittenStep& step, const WrittenShape& shape);

/// @param name of a collective. @return it. Throws Error{invalid_argument}.
[[nodiscard]] Collective written_collective(std::string_view name);

/// Reads what `tutti show --format json` writes, of all ranks. Throws Error{invalid_argument} for
/// anything else. @param text of the file. @return what it says.
[[nodiscard]] Written from_json(const std::string& text);

/// Proves what was written down. Throws Error{invalid_argument} with the first thing that is wrong.
/// @param written any. @return all that holds.
[[nodiscard]] Traits proved_traits(const Written& written);

}  // namespace tutti::perf
