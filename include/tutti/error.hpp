/// @file
/// Errors: one exception type, and Result for callers without exceptions.
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

/// The kind of an Error.
enum class ErrorCode : std::uint8_t {
  invalid_argument,  ///< The call was wrong and had no effect; the communicator stays usable.
  mismatch,          ///< Ranks called different collectives, or the same with different arguments.
  timeout,           ///< The deadline passed; the message names the awaited rank and round.
  peer_dead,         ///< A rank of the communicator has ended.
  /// A rank aborted: a request was dropped, or an exception ended a call. Over MPI also: another
  /// rank failed; the message has its first cause.
  aborted,
  transport,  ///< The operating system or the MPI reported an error, or memory ran out.
  /// Objects could not be sent: ranks have different types, or one object could not be encoded or
  /// decoded, or is too large. The communicator stays usable.
  object,
  bug,  ///< An invariant of tutti itself does not hold. Please report it.
};

/// @return the name of an enumerator, such as "timeout".
[[nodiscard]] TUTTI_API std::string_view name_of(ErrorCode code) noexcept;

/// The one exception type of the library. The starting call throws argument errors, which change
/// nothing. The waiting call throws operating errors, which leave the communicator failed, except
/// ErrorCode::object. Over connections of tutti's own, all ranks then get the same error, whichever
/// of them met it. A rank whose call already had its whole result keeps that result, and gets the
/// error from its next call that waits.
class TUTTI_API Error : public std::exception {
 public:
  /// @param message one sentence that says what is wrong and what would be right.
  /// @param culprit the rank at fault, or -1 if none is known.
  Error(ErrorCode code, std::string message, Rank culprit = -1)
      : Error{code, std::move(message), culprit, code} {}
  /// The error of a rank that is aborted because of a failure elsewhere, over MPI.
  /// @param code aborted. @param cause the kind of the first rank's error.
  Error(ErrorCode code, std::string message, Rank culprit, ErrorCode cause)
      : message_{std::move(message)}, code_{code}, cause_{cause}, culprit_{culprit} {}

  /// @return the message, owned by this object.
  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }
  /// @return the kind of the error.
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  /// @return the kind of the first error: on an aborted rank that of the first rank, otherwise
  /// code().
  [[nodiscard]] ErrorCode cause() const noexcept { return cause_; }
  /// @return the rank at fault, or -1 if none is known or several are at fault.
  [[nodiscard]] Rank culprit() const noexcept { return culprit_; }
  /// @return the number of the collective, counted from one modulo 2^30, or, for a plan, 2^62 plus
  /// its number modulo 2^20, if a transport found messages of it that differ; otherwise 0.
  [[nodiscard]] std::uint64_t call() const noexcept { return call_; }
  /// @return this error with that call().
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

/// Either a value or an Error: the result of `try_` calls.
template <class T>
class [[nodiscard]] Result {
  using Value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

 public:
  /// Success without a value. Only for Result<void>.
  Result() requires std::is_void_v<T> : content_{Value{}} {}
  /// Success.
  Result(Value value) : content_{std::move(value)} {}  // NOLINT(google-explicit-constructor)
  /// Failure.
  Result(Error error) : content_{std::move(error)} {}  // NOLINT(google-explicit-constructor)

  /// @return true on success.
  [[nodiscard]] explicit operator bool() const noexcept { return content_.index() == 0; }
  /// @return the error. Only after a failure.
  [[nodiscard]] const Error& error() const { return std::get<1>(content_); }
  /// @return the value. Throws the Error after a failure.
  Value& value() {
    if (const auto* failure = std::get_if<1>(&content_)) detail::raise(*failure);
    return std::get<0>(content_);
  }

 private:
  std::variant<Value, Error> content_;
};

/// Checks an invariant of tutti itself, in every build type. Throws Error{bug} if it does not hold.
/// @param message names the invariant.
inline void expects(bool condition, const char* message) {
  if (!condition) detail::raise({ErrorCode::bug, std::string{"tutti has a bug: "} + message});
}

}  // namespace tutti::v0
