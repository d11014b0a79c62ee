/// @file
/// Calls that are made of several calls of a communicator.
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

/// While it lives, another thread that calls the communicator gets Error{invalid_argument}.
class TUTTI_API SoleCaller {
 public:
  /// Throws Error{invalid_argument} as a call would. @param communicator of ranks.
  explicit SoleCaller(Communicator& communicator);
  SoleCaller(const SoleCaller&) = delete;
  SoleCaller& operator=(const SoleCaller&) = delete;
  ~SoleCaller();

 private:
  std::shared_ptr<detail::Engine> engine_;
};

/// Calls a function of the program's within a call of a communicator: where it calls that one it
/// gets Error{invalid_argument}, as an operator does. @param communicator of ranks. @param function
/// of the program's. Throws what it throws, and as a call would.
TUTTI_API void call_within(Communicator& communicator, const std::function<void()>& function);

/// Fails a communicator of the exception that is being handled, and tells the other ranks, which
/// may wait for this one. @param communicator of ranks. @return the Error that all ranks throw from
/// now on.
[[nodiscard]] TUTTI_API Error fail_as_caught(Communicator& communicator) noexcept;

namespace detail {
/// Throws the exception that is being handled once more where it is an Error, else what
/// fail_as_caught returns. @param communicator of ranks.
[[noreturn]] TUTTI_API void raise_as_one(Communicator& communicator);
}  // namespace detail

/// Makes a call of several. Other threads are refused meanwhile. An Error that `calls` throws is
/// one that all ranks know of, or that changed nothing; any other exception, such as of memory,
/// fails the communicator, since the other ranks wait for the rest of the calls.
/// @param communicator of ranks. @param calls makes them. @return what it returns. Throws Error.
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
