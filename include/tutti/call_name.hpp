/// @file
/// The name that errors give to a call that is part of a larger one.
#pragma once

#include <string_view>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0 {

/// While one lives, the collectives that its thread makes are parts of an operation of this name,
/// by which errors call them: a rank that called `split` reads of a split, not of the all_gather in
/// it. The name is equal on all ranks, whose calls of different names do not match. Of several the
/// first one made counts.
class TUTTI_API CallName {
 public:
  /// @param name such as "split", which lives as long as the program: a string literal.
  explicit CallName(std::string_view name) noexcept;
  CallName(const CallName&) = delete;
  CallName& operator=(const CallName&) = delete;
  /// Later calls have the name that there was before, or none.
  ~CallName();

  /// @return the name for this thread's calls, or nothing.
  [[nodiscard]] static std::string_view current() noexcept;

 private:
  std::string_view before_;
};

}  // namespace tutti::v0
