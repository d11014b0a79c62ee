#include "dropin/engine/persistent.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tutti/error.hpp>

#include "dropin/engine/call.hpp"
#include "dropin/engine/kept.hpp"
#include "dropin/engine/pending.hpp"

namespace tutti::dropin {
namespace {

// A call, and what keeps its arguments.
class Prepared {
 public:
  Prepared(State& state, MPI_Comm comm, Task task)
      : state_{state.shared_from_this()}, comm_{comm},
        task_{std::make_shared<Task>(std::move(task))}, in_{task_->call.in} {
    if (task_->call.op != nullptr) task_->call.op = &task_->op.emplace(*task_->call.op);
    keep_types(task_->sources);
    keep_types(task_->results);
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  ~Prepared() {
    for (MPI_Datatype type : types_) {
      forget(type);
      PMPI_Type_free(&type);
    }
  }

  [[nodiscard]] int tag() const { return tag_->number(); }
  // Starts the call, but not its request.
  int start() {
    count(Reason::served);
    task_->call.in = in_;
    const int code = run_step(comm_, *task_, [this] {
      task_->read_again();
      dropin::start(*state_, task_, tag_);
    });
    if (code != MPI_SUCCESS) complete(*tag_);
    return code;
  }

 private:
  void keep_types(std::vector<Block>& blocks) {
    for (Block& block : blocks) {
      if (block.count == 0 || facts_of(block.type).is_predefined) continue;
      PMPI_Type_dup(block.type, &block.type);
      types_.push_back(block.type);
    }
  }

  std::shared_ptr<State> state_;
  MPI_Comm comm_;
  std::shared_ptr<Task> task_;
  const void* in_;
  std::shared_ptr<Tag> tag_ = std::make_shared<Tag>();
  std::vector<MPI_Datatype> types_{};
};

std::mutex registry_mutex;
std::unordered_map<MPI_Request, std::shared_ptr<Prepared>> registry;
std::atomic<int> registered{0};  // its size, so that programs without any pay little

// Null if the request is the MPI's.
std::shared_ptr<Prepared> find(MPI_Request request) {
  if (registered.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::scoped_lock lock{registry_mutex};
  const auto found = registry.find(request);
  return found == registry.end() ? nullptr : found->second;
}

}  // namespace

int prepare(State& state, MPI_Comm comm, Task task, MPI_Request* request) {
  std::shared_ptr<Prepared> prepared;
  try {
    prepared = std::make_shared<Prepared>(state, comm, std::move(task));
  } catch (const Error& error) {
    return raise(comm, error);
  }
  PMPI_Recv_init(nullptr, 0, MPI_BYTE, 0, prepared->tag(), messages(), request);
  const std::scoped_lock lock{registry_mutex};
  registry[*request] = std::move(prepared);
  registered.store(static_cast<int>(registry.size()));
  return MPI_SUCCESS;
}

int start_prepared(MPI_Request* request) {
  const std::shared_ptr<Prepared> found = request == nullptr ? nullptr : find(*request);
  const int code = PMPI_Start(request);
  return found == nullptr || code != MPI_SUCCESS ? code : found->start();
}

int start_all_prepared(int count, MPI_Request* requests) {
  if (registered.load(std::memory_order_relaxed) == 0) return PMPI_Startall(count, requests);
  for (int i = 0; i < count; ++i)
    if (const int code = start_prepared(requests + i); code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}

int free_prepared(MPI_Request* request) {
  std::shared_ptr<Prepared> freed;  // destroyed without the lock
  if (request != nullptr && registered.load(std::memory_order_relaxed) > 0) {
    const std::scoped_lock lock{registry_mutex};
    if (const auto found = registry.find(*request); found != registry.end()) {
      freed = std::move(found->second);
      registry.erase(found);
      registered.store(static_cast<int>(registry.size()));
    }
  }
  const KeptCall kept = request == nullptr ? KeptCall{} : release_kept(*request);
  return PMPI_Request_free(request);
}

}  // namespace tutti::dropin
