/// @file
/// Operations of several calls of a communicator.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <tutti/error.hpp>
#include <tutti/export.hpp>
#include <tutti/raise.hpp>

namespace tutti::v0 {

class Communicator;
namespace detail {
class Engine;
}  // namespace detail

/// During its lifetime, another thread that calls the communicator gets Error{invalid_argument}.
class TUTTI_API SoleCaller {
 public:
  /// Throws Error{invalid_argument} as a call would.
  explicit SoleCaller(Communicator& communicator);
  SoleCaller(const SoleCaller&) = delete;
  SoleCaller& operator=(const SoleCaller&) = delete;
  ~SoleCaller();

 private:
  std::shared_ptr<detail::Engine> engine_;
};

/// Calls a function of the program within a call of a communicator: a call of that communicator in
/// it is Error{invalid_argument}, as in an operator. Throws the function's exception, and as a
/// call.
TUTTI_API void call_within(Communicator& communicator, const std::function<void()>& function);

/// Fails a communicator with the exception that is being handled, and notifies the other ranks,
/// which may wait for this one. @return the Error that all ranks throw from now on.
[[nodiscard]] TUTTI_API Error fail_as_caught(Communicator& communicator) noexcept;

namespace detail {
/// Rethrows the exception that is being handled if it is an Error, otherwise throws the result of
/// fail_as_caught.
[[noreturn]] TUTTI_API void raise_as_one(Communicator& communicator);
}  // namespace detail

/// Runs an operation of several calls; other threads are rejected meanwhile. If `calls` throws an
/// Error, all ranks know it or it changed nothing. Any other exception, such as for lack of memory,
/// fails the communicator, since the other ranks wait for the rest of the calls. @return the result
/// of `calls`. Throws Error.
template <class Calls>
auto run_as_one(Communicator& communicator, Calls calls) {
  const SoleCaller sole{communicator};
  const auto fail = [&communicator] { detail::raise_as_one(communicator); };
  using Value = std::decay_t<std::invoke_result_t<Calls&>>;
  if constexpr (std::is_void_v<Value>) {
    detail::guarded(std::ref(calls), fail);
  } else {
    std::optional<Value> value;
    detail::guarded([&] { value.emplace(calls()); }, fail);
    return *std::move(value);
  }
}

}  // namespace tutti::v0
