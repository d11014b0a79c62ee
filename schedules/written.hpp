/// @file
/// The checks and errors that all readers of schedule files share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tutti/spi/schedule_file.hpp>

namespace tutti::v0::written {

/// The limits that every step must keep.
struct WrittenShape {
  std::int64_t size = 0;    ///< Number of ranks.
  std::int64_t root = 0;    ///< The root.
  std::int64_t units = 0;   ///< As Schedule::units.
  std::int64_t planes = 0;  ///< As Schedule::planes.
};

/// One step of a file; fields that its kind does not have are ignored.
struct WrittenStep {
  std::string_view kind{};         ///< "send", "recv", "recv_reduce", "reduce", "copy", "finish".
  std::int64_t peer = -1;          ///< For messages.
  std::string_view space{};        ///< "in", "out" or "scratch".
  std::int64_t first = -1;         ///< First slot.
  std::int64_t count = -1;         ///< Number of slots.
  std::string_view from_space{};   ///< For reduce and copy.
  std::int64_t from_first = -1;    ///< For reduce and copy.
  std::string_view side = "left";  ///< For reductions.
};

/// Throws Error{invalid_argument}. @param message the fault of the file.
[[noreturn]] void reject_written(const std::string& message);

/// Rejects numbers that no schedule has, and numbers that would exhaust memory. Throws
/// Error{invalid_argument}. @param shape of a file.
void check(const WrittenShape& shape);

/// @return the step of a schedule. Throws Error{invalid_argument} that names the fault.
/// @param shape was checked.
[[nodiscard]] Step step_of(const WrittenStep& step, const WrittenShape& shape);

/// @return whether a step copies a part of the input to the same part of the output. Readers drop
/// such steps: in place both parts are one memory, and otherwise output that no step writes equals
/// the input.
[[nodiscard]] bool is_own_copy(const Step& step) noexcept;

/// @param gpu the rank. @param place of a step. @return such as "gpu 0, tb 1, step 2".
[[nodiscard]] std::string text_of_place(std::size_t gpu, const WrittenPlace& place);

/// @return the collective of a name. Throws Error{invalid_argument}.
[[nodiscard]] Collective written_collective(std::string_view name);

/// Proves schedules of a file. Throws Error{invalid_argument} with the first fault. @return all
/// traits that hold.
[[nodiscard]] Traits proved_traits(const WrittenSchedules& written);

}  // namespace tutti::v0::written
