#include "dropin/engine/pending.hpp"

#include <sys/eventfd.h>

#include <bitset>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <tutti/communicator.hpp>
#include <tutti/error.hpp>
#include <tutti/request.hpp>

#include "dropin/engine/call.hpp"
#include "dropin/engine/hooks.hpp"
#include "dropin/engine/kept.hpp"

namespace tutti::dropin {

namespace detail {
std::atomic<int> pending{0};
}

namespace {

constexpr int kTags = 32768;  // that every MPI has

struct Started {
  std::shared_ptr<State> state;
  std::shared_ptr<Task> task;
  Request request;
  std::shared_ptr<Tag> tag;
};

MPI_Comm own_messages = MPI_COMM_NULL;
int wakes = -1;  // an eventfd that nobody reads: with it tutti's thread advances the calls
TryMutex mutex;
std::list<Started> started;

std::mutex tags_mutex;
std::bitset<kTags> tags;
int next_tag = 0;

// Whether a call has ended, with or without an error.
bool has_ended(Started& one, std::optional<Error>& error) {
  const std::unique_lock alone{one.state->mutex, std::try_to_lock};
  if (!alone.owns_lock()) return false;
  Result<bool> done = one.request.try_test();
  if (done && !done.value()) return false;
  try {
    if (done) one.task->finish();
    else error = done.error();
  } catch (const Error& failure) {
    error = failure;
  }
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
    complete(*one->tag);
    one = started.erase(one);
    detail::pending.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace

void prepare_requests() noexcept {
  PMPI_Comm_dup(MPI_COMM_SELF, &own_messages);
  // A thread would take time of a core from the ranks, so it is for MPIs that do not poll.
  const auto poll_pending = []() noexcept {
    if (has_pending()) poll();
  };
  if (!hook_into_progress(poll_pending)) wakes = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

MPI_Comm messages() noexcept {
  return own_messages;
}

Tag::Tag() : number_{-1} {
  const std::scoped_lock lock{tags_mutex};
  for (int i = 0; i < kTags && number_ < 0; ++i) {
    if (!tags.test(static_cast<std::size_t>(next_tag))) number_ = next_tag;
    next_tag = (next_tag + 1) % kTags;
  }
  if (number_ < 0)
    throw Error{ErrorCode::invalid_argument,
                "a process has more than 32768 requests of collectives at a time"};
  tags.set(static_cast<std::size_t>(number_));
}

Tag::~Tag() {
  const std::scoped_lock lock{tags_mutex};
  if (number_ >= 0) tags.reset(static_cast<std::size_t>(number_));
}

void complete(const Tag& tag) noexcept {
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Isend(nullptr, 0, MPI_BYTE, 0, tag.number(), own_messages, &request);
  PMPI_Request_free(&request);
}

void start(State& state, Task& task, MPI_Request* request) {
  const auto tag = std::make_shared<Tag>();
  const auto own = std::make_shared<Task>(std::move(task));
  try {
    start(state, own, tag);
  } catch (const Error&) {
    task = std::move(*own);
    throw;
  }
  PMPI_Irecv(nullptr, 0, MPI_BYTE, 0, tag->number(), own_messages, request);
}

void start(State& state, const std::shared_ptr<Task>& task, const std::shared_ptr<Tag>& tag) {
  const std::scoped_lock lock{mutex};
  Request own = [&] {
    const std::scoped_lock alone{state.mutex};
    Result<Request> result = state.communicator->try_().start(task->call, {.counts = task->counts});
    if (!result) throw result.error();
    if (wakes >= 0) result.value().notify(wakes);
    return std::move(result.value());
  }();
  started.push_back({state.shared_from_this(), task, std::move(own), tag});
  detail::pending.fetch_add(1, std::memory_order_relaxed);
}

void poll() noexcept {
  std::optional<Error> error;
  poll_all(error);
  poll_kept();
  // The program's handler may call MPI. The communicator of the call may be freed.
  if (error) static_cast<void>(raise(MPI_COMM_WORLD, *error));
}

}  // namespace tutti::dropin
