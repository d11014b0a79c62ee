/// @file
/// How tutti reports trouble: one exception type, and Result for callers that do not throw.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <variant>

#include <tutti/export.hpp>
#include <tutti/raise.hpp>
#include <tutti/types.hpp>

namespace tutti::v0 {

/// What kind of trouble an Error reports.
enum class ErrorCode : std::uint8_t {
  invalid_argument,  ///< The call was wrong and had no effect; the communicator stays usable.
  mismatch,          ///< Ranks called different collectives, or the same with different arguments.
  timeout,           ///< The deadline passed; the message names the awaited rank and round.
  peer_dead,         ///< A rank of the communicator is gone.
  aborted,           ///< A rank gave up: a request was dropped, or an exception ended a call. Over
                     ///< MPI also: another rank failed; the message carries its first cause.
  transport,         ///< The operating system or the MPI reported an error, or memory ran out.
  object,            ///< Objects could not be moved: ranks gave different types, one could not be
                     ///< encoded or decoded, or is too large. The communicator stays usable.
  bug,               ///< An invariant of tutti itself does not hold. Please report it.
};

/// @param code any enumerator. @return its name, such as "timeout".
[[nodiscard]] TUTTI_API std::string_view name_of(ErrorCode code) noexcept;

/// The one exception type of the library. Argument errors are thrown by the starting call and
/// change nothing; operating errors surface in the waiting call and, but for ErrorCode::object,
/// leave the communicator failed. Over connections of tutti's own all ranks then get the same one,
/// whichever of them met it. A rank whose call had its whole result before keeps that result, and
/// gets the error from its next call that waits.
class TUTTI_API Error : public std::exception {
 public:
  /// @param code the kind of trouble.
  /// @param message one sentence that says what was wrong and what would be right.
  /// @param culprit the rank at fault, or -1 where none is known.
  Error(ErrorCode code, std::string message, Rank culprit = -1)
      : Error{code, std::move(message), culprit, code} {}
  /// Of a rank that is told of a failure elsewhere, over MPI.
  /// @param code aborted. @param message as above. @param culprit as above. @param cause the kind
  /// of trouble that the first rank met.
  Error(ErrorCode code, std::string message, Rank culprit, ErrorCode cause)
      : message_{std::move(message)}, code_{code}, cause_{cause}, culprit_{culprit} {}

  /// @return the message, owned by this object.
  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }
  /// @return the kind of trouble.
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  /// @return the kind of trouble it began with: on a rank that was aborted what the first rank met,
  /// else code().
  [[nodiscard]] ErrorCode cause() const noexcept { return cause_; }
  /// @return the rank at fault, or -1 where none is known, or no single one is at fault.
  [[nodiscard]] Rank culprit() const noexcept { return culprit_; }
  /// @return the number of the collective that it is about, counted from one modulo 2^30, or, of a
  /// plan, 2^62 and its number modulo 2^20, where a transport found messages of it that differ;
  /// else 0.
  [[nodiscard]] std::uint64_t call() const noexcept { return call_; }
  /// @param call as call() will say. @return this error.
  [[nodiscard]] Error about(std::uint64_t call) && {
    call_ = call;
    return std::move(*this);
  }

 private:
  std::string message_;
  ErrorCode code_;
  ErrorCode cause_;
  Rank culprit_;
  std::uint64_t call_ = 0;
};

/// Either a value or an Error: what the `try_` calls return.
/// @tparam T the value's type, or void.
template <class T>
class [[nodiscard]] Result {
  using Value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

 public:
  /// Success without a value. Only for Result<void>.
  Result() requires std::is_void_v<T> : content_{Value{}} {}
  /// Success. @param value what the call produced.
  Result(Value value) : content_{std::move(value)} {}  // NOLINT(google-explicit-constructor)
  /// Failure. @param error what went wrong.
  Result(Error error) : content_{std::move(error)} {}  // NOLINT(google-explicit-constructor)

  /// @return true on success.
  [[nodiscard]] explicit operator bool() const noexcept { return content_.index() == 0; }
  /// @return the error. Call it only after a failure.
  [[nodiscard]] const Error& error() const { return std::get<1>(content_); }
  /// @return the value. Throws the Error after a failure.
  Value& value() {
    if (const auto* failure = std::get_if<1>(&content_)) detail::raise(*failure);
    return std::get<0>(content_);
  }

 private:
  std::variant<Value, Error> content_;
};

/// Checks an invariant of tutti itself, in every build type.
/// @param condition what must hold.
/// @param message names the invariant. Throws Error with ErrorCode::bug if it does not hold.
inline void expects(bool condition, const char* message) {
  if (!condition) detail::raise({ErrorCode::bug, std::string{"tutti has a bug: "} + message});
}

}  // namespace tutti::v0
