/// @file
/// The name of a call that consists of several calls, for errors.
#pragma once

#include <string_view>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0 {

/// During its lifetime the collectives of its thread are parts of an operation of this name, which
/// errors print: a rank that called `split` reads of a split, not of the all_gather in it. The name
/// is equal on all ranks, and calls of different names do not match. The outermost name counts.
class TUTTI_API CallName {
 public:
  /// @param name such as "split"; a string literal.
  explicit CallName(std::string_view name) noexcept;
  CallName(const CallName&) = delete;
  CallName& operator=(const CallName&) = delete;
  /// Restores the name before, or none.
  ~CallName();

  /// @return the name for this thread's calls, or an empty one.
  [[nodiscard]] static std::string_view current() noexcept;

 private:
  std::string_view before_;
};

}  // namespace tutti::v0
