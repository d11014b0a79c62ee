/// @file
/// What the calls that do not throw are made of.
#pragma once

#include <exception>
#include <type_traits>

#include <tutti/error.hpp>

namespace tutti::detail {

/// Makes a call. @param call what to do. @return what it returned, or the Error it threw; anything
/// else it threw becomes an Error{transport}.
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
  } catch (const std::exception& error) {
    return Error{ErrorCode::transport, error.what()};
  }
}

}  // namespace tutti::detail
