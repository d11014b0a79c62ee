#include "dropin/engine/pending.hpp"

#include <sys/eventfd.h>

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <tutti/communicator.hpp>
#include <tutti/error.hpp>
#include <tutti/request.hpp>

#include "dropin/engine/call.hpp"

namespace tutti::dropin {

namespace detail {
std::atomic<int> pending{0};
}

namespace {

constexpr int kTags = 32768;  // that every MPI has

struct Started {
  std::shared_ptr<State> state;
  Task task;
  Request request;
  int tag;
};

MPI_Comm messages = MPI_COMM_NULL;
int wakes = -1;  // an eventfd that nobody reads: with it tutti's thread advances the calls
std::mutex mutex;
std::list<Started> started;
int next_tag = 0;

bool is_tag_used(int tag) {
  for (const Started& one : started)
    if (one.tag == tag) return true;
  return false;
}

void complete(int tag) noexcept {
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Isend(nullptr, 0, MPI_BYTE, 0, tag, messages, &request);
  PMPI_Request_free(&request);
}

// Whether a call has ended, with or without an error.
bool has_ended(Started& one, std::optional<Error>& error) {
  const std::unique_lock alone{one.state->mutex, std::try_to_lock};
  if (!alone.owns_lock()) return false;
  Result<bool> done = one.request.try_test();
  if (done && !done.value()) return false;
  if (done) one.task.finish();
  else error = done.error();
  return true;
}

void poll_all(std::optional<Error>& error) {
  const std::unique_lock lock{mutex, std::try_to_lock};
  if (!lock.owns_lock()) return;
  for (auto one = started.begin(); one != started.end();) {
    if (!has_ended(*one, error)) {
      ++one;
      continue;
    }
    complete(one->tag);
    one = started.erase(one);
    detail::pending.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace

void prepare_requests() noexcept {
  PMPI_Comm_dup(MPI_COMM_SELF, &messages);
  wakes = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

void start(State& state, Task& task, MPI_Request* request) {
  const std::scoped_lock lock{mutex};
  Request own = [&] {
    const std::scoped_lock alone{state.mutex};
    Result<Request> result = state.communicator->try_().start(task.call, {.counts = task.counts});
    if (!result) throw result.error();
    if (wakes >= 0) result.value().notify(wakes);
    return std::move(result.value());
  }();
  while (is_tag_used(next_tag)) next_tag = (next_tag + 1) % kTags;
  const int tag = std::exchange(next_tag, (next_tag + 1) % kTags);
  PMPI_Irecv(nullptr, 0, MPI_BYTE, 0, tag, messages, request);
  started.push_back({state.shared_from_this(), std::move(task), std::move(own), tag});
  detail::pending.fetch_add(1, std::memory_order_relaxed);
}

void poll() noexcept {
  std::optional<Error> error;
  poll_all(error);
  // The program's handler may call MPI. The communicator of the call may be freed.
  if (error) static_cast<void>(raise(MPI_COMM_WORLD, *error));
}

}  // namespace tutti::dropin
