/// @file
/// The objects behind the handles of the C interface, its structs as C++ ones, and its errors.
#pragma once

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
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
  std::shared_ptr<const void> owner{};  ///< Owns the kept objects' bytes.
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
/// Stores the exception that is being handled for tutti_last_error. @return its status.
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
void require(const void* pointer, std::string_view name);

/// As guarded. Throws Error{invalid_argument} where an argument is null. @param name of the
/// argument.
template <class Function>
tutti_status guarded(const void* argument, const char* name, Function&& function) noexcept {
  return guarded([&] {
    require(argument, name);
    return function();
  });
}

/// Sets a result that a function returns through a pointer, before anything can fail. @param result
/// or null.
template <class T>
void clear(T* result, std::type_identity_t<T> value = {}) noexcept {
  if (result != nullptr) *result = value;
}

/// @param value of a program: any number. @param count of enumerators, which count from zero.
/// @param name of the enumeration in C. @return the enumerator of C++. Throws
/// Error{invalid_argument} if there is none.
template <class Enum, class Given>
[[nodiscard]] Enum enumerator_of(Given value, std::size_t count, const char* name) {
  const int number = static_cast<int>(value);
  if (number >= 0 && static_cast<std::size_t>(number) < count) return static_cast<Enum>(number);
  throw Error{ErrorCode::invalid_argument, "there is no " + std::string{name} + " " +
                                               std::to_string(number) +
                                               "; expected one that tutti.h declares"};
}

/// Checks the size that a program has set in a struct: one that is not set is any number. Throws
/// Error{invalid_argument}.
template <class Struct>
void check_size(const Struct& given) {
  constexpr std::size_t kMost = std::size_t{1} << 16;  // structs of later versions are longer
  if (given.size < sizeof given.size || given.size > kMost)
    throw Error{ErrorCode::invalid_argument,
                "a struct has size " + std::to_string(given.size) +
                    "; its function tutti_..._defaults sets it, or sizeof of the struct"};
}

/// Reads a struct of a program that was compiled with this version of the interface, or another
/// one.
/// @param given or null. @param defaults in place of the members that the program does not have.
/// Throws Error{invalid_argument} for an impossible size, and for members of a later version that
/// are set, which this library would ignore.
template <class Struct>
[[nodiscard]] Struct read(const Struct* given, Struct defaults) {
  if (given == nullptr) return defaults;
  check_size(*given);
  const std::size_t size = given->size;
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
/// If `to` is null, or `size` has no room for the member `size`, it writes nothing.
template <class Struct>
void write(Struct* to, std::size_t size, const Struct& from) noexcept {
  if (to == nullptr || size < sizeof to->size) return;
  std::memset(static_cast<void*>(to), 0, size);
  std::memcpy(to, &from, std::min(size, sizeof(Struct)));
  to->size = size;
}

/// @param result of a function that makes a handle. Throws Error{invalid_argument} for null.
template <class Handle, class Make>
tutti_status made(Handle** result, Make&& make) noexcept {
  clear(result);
  return guarded(result, "result", [&] { *result = new Handle{make()}; });
}

/// Stores a text, as tutti_describe documents.
void store_text(std::string_view text, char* to, std::size_t capacity,
                std::size_t* length) noexcept;

/// Stores the text that a function returns; an empty one if it fails.
template <class Text>
tutti_status stored(char* to, std::size_t capacity, std::size_t* length, Text&& text) noexcept {
  store_text({}, to, capacity, length);
  return guarded([&] { store_text(text(), to, capacity, length); });
}

/// @param text or null. @return it, empty for null.
[[nodiscard]] inline std::string_view view_of(const char* text) noexcept {
  return text == nullptr ? std::string_view{} : std::string_view{text};
}
/// @param timeout nanoseconds of a struct. @return it.
[[nodiscard]] Duration duration_of(std::int64_t timeout) noexcept;

/// A call of a program, and its options, in C++.
struct GivenCall {
  /// Throws Error{invalid_argument} if the communicator or the call is null, or if a value is
  /// invalid.
  GivenCall(const tutti_communicator* communicator, const tutti_call* given,
            const tutti_options* given_options);
  GivenCall(const GivenCall&) = delete;  // the call points at the operator
  GivenCall& operator=(const GivenCall&) = delete;
  ~GivenCall() = default;

  std::optional<Operator> op{};
  Call call{};
  Options options{};
};

/// @param type of a program. @return it. Throws Error{invalid_argument}.
[[nodiscard]] Datatype datatype_of(tutti_datatype type);

}  // namespace tutti::v0::c
