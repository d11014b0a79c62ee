/// @file
/// Support for calls that do not throw.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include <tutti/error.hpp>
#include <tutti/raise.hpp>

namespace tutti::v0::detail {

/// Calls a function. @return the Error that it threw, or nothing. Another std::exception becomes an
/// Error{transport}, any other type an Error{aborted}.
[[nodiscard]] TUTTI_API std::optional<Error> error_of(Callee function) noexcept;

/// Calls a function. @return its result, or the Error as error_of.
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
  using Outcome = Result<void>;  ///< Result of a call without a value.
  /// Result of a call with a value of type T.
  template <class T>
  using Of = Result<T>;
  /// @return the result of the function, or the Error.
  template <class Function>
  static auto call(Function function) noexcept {
    return attempt(std::move(function));
  }
};

}  // namespace tutti::v0::detail
