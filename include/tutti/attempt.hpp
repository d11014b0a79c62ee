/// @file
/// What the calls that do not throw are made of.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include <tutti/error.hpp>
#include <tutti/raise.hpp>

namespace tutti::v0::detail {

/// Calls a function. @param function what. @return the Error it threw, or nothing. Another
/// exception becomes an Error{transport}, and what is no std::exception an Error{aborted}.
[[nodiscard]] TUTTI_API std::optional<Error> error_of(Callee function) noexcept;

/// Makes a call. @param call what to do. @return what it returned, or the Error as of error_of.
template <class Function>
Result<std::invoke_result_t<Function>> attempt(Function call) noexcept {
  using Outcome = Result<std::invoke_result_t<Function>>;
  std::optional<Outcome> outcome;
  auto keep = [&] {
    if constexpr (std::is_void_v<std::invoke_result_t<Function>>) {
      call();
      outcome.emplace();
    } else {
      outcome.emplace(call());
    }
  };
  if (std::optional<Error> error = error_of(callee_of(keep))) return *std::move(error);
  return *std::move(outcome);
}

/// A call returns its Error instead of throwing it.
struct Returning {
  using Outcome = Result<void>;  ///< Of what returns nothing.
  /// Of what returns a value. @tparam T its type.
  template <class T>
  using Of = Result<T>;
  /// @param function the call. @return what it returned, or the Error.
  template <class Function>
  static auto call(Function function) noexcept {
    return attempt(std::move(function));
  }
};

}  // namespace tutti::v0::detail
