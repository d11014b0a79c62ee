/// @file
/// How headers throw and catch: by functions of the library, so that programs may be compiled with
/// -fno-exceptions.
#pragma once

#include <memory>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0 {

class Error;

namespace detail {

/// Throws. @param error what.
[[noreturn]] TUTTI_API void raise(const Error& error);
/// Throws std::bad_array_new_length.
[[noreturn]] TUTTI_API void raise_bad_length();
/// Throws std::out_of_range. @param what its words.
[[noreturn]] TUTTI_API void raise_out_of_range(const char* what);
/// Throws the exception that is being handled once more.
[[noreturn]] TUTTI_API void raise_again();

/// A function without its type, which somebody else keeps.
struct Callee {
  void (*call)(void* function);  ///< Calls it.
  void* function;                ///< What it is given.
};
/// @param function lives as long as the Callee is called. @return it.
template <class Function>
[[nodiscard]] Callee callee_of(Function& function) noexcept {
  return {[](void* self) { (*static_cast<Function*>(self))(); },
          const_cast<void*>(static_cast<const void*>(std::addressof(function)))};
}

/// Calls a function, and another one while an exception of the first is handled.
TUTTI_API void call_guarded(Callee function, Callee handler);
/// Calls a function. @param function what to do. @param handler is called where that throws; it may
/// call raise_again.
template <class Function, class Handler>
void guarded(Function function, Handler handler) {
  call_guarded(callee_of(function), callee_of(handler));
}

}  // namespace detail
}  // namespace tutti::v0
