#include "dropin/engine/state.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <tutti/mpi.hpp>
#include <tutti/spi/communicator.hpp>

#include "dropin/engine/freed.hpp"
#include "dropin/engine/hooks.hpp"
#include "dropin/engine/timed_call.hpp"

namespace tutti::dropin {
namespace {

// The states are freed by their attributes, and by the end of the MPI whatever is left.
class States {
 public:
  State& add(std::shared_ptr<State> state) {
    const std::scoped_lock lock{mutex_};
    return **states_.insert(std::move(state)).first;
  }
  void remove(State* state) noexcept {
    std::shared_ptr<State> removed;  // destroyed without the lock
    const std::scoped_lock lock{mutex_};
    const auto place = std::ranges::find(states_, state, &std::shared_ptr<State>::get);
    if (place != states_.end()) removed = std::move(states_.extract(place).value());
  }
  void clear() noexcept {
    const std::scoped_lock lock{mutex_};
    states_.clear();
  }

 private:
  std::mutex mutex_{};
  std::set<std::shared_ptr<State>> states_{};
};

States& states() {
  static States* const states = new States;  // attributes may be deleted after static objects
  return *states;
}

std::atomic<bool> ended{false};
int keyval = MPI_KEYVAL_INVALID;
// The state of MPI_COMM_WORLD once its ranks are connected, of which others then are groups.
std::atomic<State*> connected_world{nullptr};

int copy_nothing(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int remove_state(MPI_Comm, int, void* state, void*) {
  freed_communicators.fetch_add(1);
  if (!ended.load()) states().remove(static_cast<State*>(state));
  return MPI_SUCCESS;
}

// @return the number of hosts of a world; 0 if it is unknown.
int hosts_in(State* world) {
  if (world == nullptr) return 0;
  const std::vector<int>& hosts = hosts_of(*world->communicator);
  return static_cast<int>(std::set<int>(hosts.begin(), hosts.end()).size());
}

// Runs when MPI_Finalize frees MPI_COMM_SELF, before it ends anything else.
int end_all(MPI_Comm, int, void*, void*) {
  ended.store(true);
  State* const world = connected_world.exchange(nullptr);
  freed_communicators.fetch_add(1);
  leave_progress();
  if (world != nullptr) compare_at_end(*world);
  report(hosts_in(world));
  states().clear();
  return MPI_SUCCESS;
}

// The ranks of a communicator in the world; some may be none, which a spawn or a connection has
// brought.
std::vector<Rank> world_ranks_of(MPI_Comm comm, int size) {
  MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &group);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  std::vector<int> ranks(static_cast<std::size_t>(size)), in_world(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  PMPI_Group_translate_ranks(group, size, ranks.data(), world, in_world.data());
  PMPI_Group_free(&group);
  PMPI_Group_free(&world);
  return in_world;
}

// Whether all ranks know the world, a key that no other communicator of this process has, which
// calls all ranks let the MPI run, and whether all want a report.
struct Agreed {
  bool has_world;
  std::uint64_t key;
  Native native;
  bool has_report;
};
Agreed agree(MPI_Comm comm, int self_in_world) {
  static std::atomic<std::int64_t> made{0};
  // The least is that of the first rank in the world, where nobody else makes the same one.
  std::array<std::int64_t, 5> own{connected_world.load() != nullptr ? 1 : 0, self_in_world, 0,
                                  static_cast<std::int64_t>(native()), reports_times() ? 1 : 0},
      all{};
  own[2] = made.fetch_add(1) + (static_cast<std::int64_t>(self_in_world) << 40);
  PMPI_Allreduce(own.data(), all.data(), 5, MPI_INT64_T, MPI_MIN, comm);
  return {all[0] == 1, static_cast<std::uint64_t>(all[2]), static_cast<Native>(all[3]),
          all[4] == 1};
}

// Connects the ranks, or none of them.
void connect(MPI_Comm comm, State& state, const std::vector<Rank>& in_world) {
  const int self = in_world[static_cast<std::size_t>(state.rank)];
  const Agreed agreed = agree(comm, self);
  state.native = agreed.native;
  if (agreed.has_report) state.kept = std::make_unique<KeptCalls>(self);
  std::string error;
  try {
    if (agreed.has_world) {
      // Local, and allowed while another thread is in a call of the world.
      state.communicator.emplace(connected_world.load()->communicator->group(in_world, agreed.key));
    } else {
      state.communicator.emplace(
          mpi::init(comm, {.warn = warn_once,
                           .communicator = {.timeout = Duration::max(), .accepts_shorter = true}}));
    }
  } catch (const std::exception& caught) {
    error = caught.what();
  }
  int all = error.empty() ? 1 : 0;
  const int own = all;
  PMPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, comm);
  if (all == 1) {
    if (comm == MPI_COMM_WORLD) connected_world.store(&state);
    return;
  }
  if (!error.empty()) agreed.has_world ? warn_here(error) : warn_once(error);
  state.communicator.reset();
  state.reason = Reason::no_connection;
}

// Connecting takes as long as some hundreds of calls of the MPI.
constexpr int kCallsBefore = 32;

std::shared_ptr<State> make(MPI_Comm comm) {
  auto state = std::make_shared<State>();
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_rank(comm, &state->rank);
  PMPI_Comm_size(comm, &state->size);
  state->reason = inter != 0         ? Reason::intercommunicator
                  : state->size == 1 ? Reason::one_rank
                                     : Reason::is_young;
  state->calls_before = comm == MPI_COMM_WORLD ? 0 : kCallsBefore;
  return state;
}

// All ranks come here in the same call.
void grow_up(MPI_Comm comm, State& state) {
  if (state.calls_before-- > 0) return;
  state.reason = Reason::served;
  const std::vector<Rank> in_world = world_ranks_of(comm, state.size);
  if (std::ranges::find(in_world, MPI_UNDEFINED) != in_world.end())
    state.reason = Reason::other_world;
  else connect(comm, state, in_world);
}

State& find_or_make(MPI_Comm comm) {
  if (State* const found = find_state(comm)) return *found;
  State& state = states().add(make(comm));
  PMPI_Comm_set_attr(comm, keyval, &state);
  return state;
}

State& remembered(MPI_Comm comm) {
  thread_local MPI_Comm last = MPI_COMM_NULL;
  thread_local unsigned last_freed = 0;
  thread_local State* state = nullptr;
  const unsigned now = freed_communicators.load(std::memory_order_acquire);
  if (comm == last && now == last_freed) return *state;
  state = &find_or_make(comm);
  last = comm;
  last_freed = now;
  return *state;
}

}  // namespace

State* find_state(MPI_Comm comm) {
  void* found = nullptr;
  int flag = 0;
  PMPI_Comm_get_attr(comm, keyval, &found, &flag);
  return flag != 0 ? static_cast<State*>(found) : nullptr;
}

State& state_of(MPI_Comm comm) {
  State& state = remembered(comm);
  if (state.reason == Reason::is_young) grow_up(comm, state);
  return state;
}

void keep_until_finalize() noexcept {
  int at_end = MPI_KEYVAL_INVALID;
  PMPI_Comm_create_keyval(copy_nothing, remove_state, &keyval, nullptr);
  PMPI_Comm_create_keyval(copy_nothing, end_all, &at_end, nullptr);
  PMPI_Comm_set_attr(MPI_COMM_SELF, at_end, nullptr);
}

bool has_world() noexcept {
  return keyval != MPI_KEYVAL_INVALID && !ended.load(std::memory_order_relaxed);
}

}  // namespace tutti::dropin
