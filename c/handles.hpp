/// @file
/// The objects behind the handles of the C interface, its structs as C++ ones, and its errors.
#pragma once

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <tutti.h>
#include <tutti/gradient_sync.hpp>
#include <tutti/object_call.hpp>
#include <tutti/tutti.hpp>

struct tutti_communicator {
  tutti::Communicator world;
};
struct tutti_request {
  tutti::Request request;
};
struct tutti_plan {
  tutti::Plan plan;
};
struct tutti_memory {
  tutti::Buffer<std::byte> buffer;
};
struct tutti_objects {
  tutti::ObjectExchange exchange{};  ///< Empty once the objects are kept.
  std::vector<std::span<const std::byte>> kept{};
  std::shared_ptr<const void> owner{};  ///< Of the kept objects' bytes.
};
struct tutti_operator {
  tutti::Operator op;
};
struct tutti_gradient_sync {
  tutti::GradientSync sync;
  std::vector<std::vector<std::size_t>> buckets{};
};

namespace tutti::v0::c {

/// Stores an error for tutti_last_error. @return its status.
tutti_status keep_error(const Error& error) noexcept;
/// Stores the exception that is being handled, likewise.
tutti_status keep_caught() noexcept;

/// @param function returns a tutti_status, or nothing: TUTTI_OK. @return that, or the status of
/// what it throws.
template <class Function>
tutti_status guarded(Function&& function) noexcept {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Function>>) {
      function();
      return TUTTI_OK;
    } else {
      return function();
    }
  } catch (...) {
    return keep_caught();
  }
}

/// Throws Error{invalid_argument} where a pointer is null. @param name of the argument.
void require(const void* pointer, const char* name);

/// As guarded. Throws Error{invalid_argument} where an argument is null. @param name of the
/// argument.
template <class Function>
tutti_status guarded(const void* argument, const char* name, Function&& function) noexcept {
  return guarded([&] {
    require(argument, name);
    return function();
  });
}

/// Reads a struct of a program that was compiled with this version of the interface, or another
/// one.
/// @param given or null. @param defaults in place of the members that the program does not have.
/// Throws Error{invalid_argument} for an impossible size, and for members of a later version that
/// are set, which this library would ignore.
template <class Struct>
[[nodiscard]] Struct read(const Struct* given, Struct defaults) {
  if (given == nullptr) return defaults;
  const std::size_t size = given->size;
  if (size < sizeof size)
    throw Error{ErrorCode::invalid_argument, "a struct has size " + std::to_string(size) +
                                                 "; its function tutti_..._defaults sets it"};
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t i = sizeof(Struct); i < size; ++i)
    if (bytes[i] != 0)
      throw Error{ErrorCode::invalid_argument,
                  "the program sets a member that tutti " + std::string{version()} +
                      " does not have, at byte " + std::to_string(i) +
                      " of a struct: run it with the version that it was compiled with"};
  std::memcpy(&defaults, given, std::min(size, sizeof(Struct)));
  defaults.size = sizeof(Struct);
  return defaults;
}

/// Writes a struct to a program that has `size` bytes of it. Members of a later version are zero.
template <class Struct>
void write(Struct* to, std::size_t size, const Struct& from) noexcept {
  std::memset(static_cast<void*>(to), 0, size);
  std::memcpy(to, &from, std::min(size, sizeof(Struct)));
  to->size = size;
}

/// @param result of a function that makes a handle. Throws Error{invalid_argument} for null.
template <class Handle, class Make>
tutti_status made(Handle** result, Make&& make) noexcept {
  return guarded([&] {
    require(result, "result");
    *result = nullptr;
    *result = new Handle{make()};
  });
}

/// @param text to store as tutti_describe says.
void store_text(std::string_view text, char* to, std::size_t capacity,
                std::size_t* length) noexcept;

/// @param text or null. @return it, empty for null.
[[nodiscard]] inline std::string_view view_of(const char* text) noexcept {
  return text == nullptr ? std::string_view{} : std::string_view{text};
}
/// @param timeout nanoseconds of a struct. @return it.
[[nodiscard]] Duration duration_of(std::int64_t timeout) noexcept;

/// @return the call of a program. Throws Error{invalid_argument}. @param ranks of the communicator.
/// @param user_op set to the operator that the call points at.
[[nodiscard]] Call call_of(const tutti_call* given, int ranks, std::optional<Operator>& op);
/// @return the options of a program. Throws Error{invalid_argument}.
[[nodiscard]] Options options_of(const tutti_options* given);
/// @param type of a program. @return it. Throws Error{invalid_argument}.
[[nodiscard]] Datatype datatype_of(tutti_datatype type);

}  // namespace tutti::v0::c
