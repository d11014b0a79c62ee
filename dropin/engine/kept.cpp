#include "dropin/engine/kept.hpp"

#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <tutti/error.hpp>

#include "dropin/engine/call.hpp"
#include "dropin/engine/pending.hpp"
#include "dropin/engine/try_mutex.hpp"

namespace tutti::dropin {
namespace {

struct StartedCall {
  KeptCall call;
  MPI_Request request = MPI_REQUEST_NULL;  // the MPI's
  Tag tag{};                               // of the program's request
};

TryMutex kept_mutex;
std::list<StartedCall> started_calls;
std::unordered_map<MPI_Request, KeptCall> prepared_calls;

// Programs without MPI_Init, as those with sessions, have no requests of the engine.
int start_and_keep_for_ever(KeptCall call, MPI_Request* request) {
  static auto* const calls = new std::list<KeptCall>;
  const std::scoped_lock lock{kept_mutex};
  return calls->emplace_back(std::move(call))(request);
}

}  // namespace

int start_kept(MPI_Comm comm, KeptCall call, MPI_Request* request) {
  if (!has_world()) return start_and_keep_for_ever(std::move(call), request);
  std::list<StartedCall> own;
  try {
    own.push_back({std::move(call)});
  } catch (const Error& error) {  // too many requests
    return raise(comm, error);
  }
  StartedCall& one = own.front();
  if (const int code = one.call(&one.request); code != MPI_SUCCESS) return code;
  PMPI_Irecv(nullptr, 0, MPI_BYTE, 0, one.tag.number(), messages(), request);
  const std::scoped_lock lock{kept_mutex};
  started_calls.splice(started_calls.end(), own);
  detail::pending.fetch_add(1, std::memory_order_relaxed);
  return MPI_SUCCESS;
}

int prepare_kept(KeptCall call, MPI_Request* request) {
  const int code = call(request);
  if (code != MPI_SUCCESS) return code;
  const std::scoped_lock lock{kept_mutex};
  prepared_calls[*request] = std::move(call);
  return MPI_SUCCESS;
}

void poll_kept() noexcept {
  const std::unique_lock lock{kept_mutex, std::try_to_lock};
  if (!lock.owns_lock()) return;
  for (auto one = started_calls.begin(); one != started_calls.end();) {
    int has_ended = 0;
    const int code = PMPI_Test(&one->request, &has_ended, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && has_ended == 0) {
      ++one;
      continue;
    }
    complete(one->tag);
    one = started_calls.erase(one);
    detail::pending.fetch_sub(1, std::memory_order_relaxed);
  }
}

KeptCall release_kept(MPI_Request request) noexcept {
  const std::scoped_lock lock{kept_mutex};
  auto released = prepared_calls.extract(request);
  return released.empty() ? KeptCall{} : std::move(released.mapped());
}

}  // namespace tutti::dropin
