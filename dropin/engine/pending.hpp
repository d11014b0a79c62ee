/// @file
/// Nonblocking calls that tutti runs. The program's requests are the MPI's own: each is a receive
/// of no bytes, for which the engine sends a message to itself when the call has ended.
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>
#include <utility>

#include "dropin/engine/state.hpp"
#include "dropin/engine/task.hpp"

namespace tutti::dropin {

/// Makes the communicator of those messages. Called once, when the MPI is initialised.
void prepare_requests() noexcept;

/// A number for the request of a call, which no other one has while it lives.
class Tag {
 public:
  Tag();
  Tag(Tag&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
  Tag& operator=(Tag&&) = delete;
  ~Tag();
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_;
};

/// @return the communicator of those messages.
[[nodiscard]] MPI_Comm messages() noexcept;

/// Completes the request of a call that has ended.
void complete(const Tag& tag) noexcept;

/// Starts a call, and makes its request. Throws Error; then nothing was started, and `task` is as
/// before.
void start(State& state, Task& task, MPI_Request* request);
/// Starts a call with a request that there is already. Throws Error; then nothing was started.
void start(State& state, const std::shared_ptr<Task>& task, const std::shared_ptr<Tag>& tag);

namespace detail {
extern std::atomic<int> pending;
}

/// @return whether calls have been started that have not ended.
[[nodiscard]] inline bool has_pending() noexcept {
  return detail::pending.load(std::memory_order_relaxed) != 0;
}

/// Lets pending calls advance, and completes the requests of those that have ended. Any thread.
void poll() noexcept;

}  // namespace tutti::dropin
