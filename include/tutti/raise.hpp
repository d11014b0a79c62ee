/// @file
/// Functions of the library by which headers throw and catch, so that programs may be compiled with
/// -fno-exceptions.
#pragma once

#include <memory>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0 {

class Error;

namespace detail {

/// Throws the error.
[[noreturn]] TUTTI_API void raise(const Error& error);
/// Throws std::bad_array_new_length.
[[noreturn]] TUTTI_API void raise_bad_length();
/// Throws std::out_of_range.
[[noreturn]] TUTTI_API void raise_out_of_range(const char* what);
/// Throws the exception that is being handled again.
[[noreturn]] TUTTI_API void raise_again();

/// A function without its type, owned by the caller.
struct Callee {
  void (*call)(void* function);  ///< Calls it.
  void* function;                ///< Its argument.
};
/// @param function must outlive the Callee.
template <class Function>
[[nodiscard]] Callee callee_of(Function& function) noexcept {
  return {[](void* self) { (*static_cast<Function*>(self))(); },
          const_cast<void*>(static_cast<const void*>(std::addressof(function)))};
}

/// Calls a function, and the handler while an exception of it is handled.
TUTTI_API void call_guarded(Callee function, Callee handler);
/// Calls a function. @param handler called if that throws; it may call raise_again.
template <class Function, class Handler>
void guarded(Function function, Handler handler) {
  call_guarded(callee_of(function), callee_of(handler));
}

}  // namespace detail
}  // namespace tutti::v0
