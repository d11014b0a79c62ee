/// @file
/// What the calls that do not throw are made of.
#pragma once

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include <tutti/error.hpp>

namespace tutti::inline v0::detail {

/// Makes a call. @param call what to do. @return what it returned, or the Error it threw. Another
/// exception becomes an Error{transport}, and what is no std::exception an Error{aborted}.
template <class Function>
Result<std::invoke_result_t<Function>> attempt(Function call) noexcept {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Function>>) {
      call();
      return {};
    } else {
      return call();
    }
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::transport, "no memory is left"};
  } catch (const std::exception& error) {
    return Error{ErrorCode::transport, error.what()};
  } catch (...) {
    return Error{ErrorCode::aborted, "an exception of unknown type ended the call"};
  }
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

}  // namespace tutti::inline v0::detail
