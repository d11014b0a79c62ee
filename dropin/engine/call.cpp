#include "dropin/engine/call.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include <tutti/error.hpp>
#include <tutti/spi/copy.hpp>

#include "dropin/engine/memory.hpp"
#include "dropin/engine/pending.hpp"
#include "dropin/engine/persistent.hpp"

namespace tutti::dropin {
namespace {

// The addresses of the MPI's library.
std::uintptr_t first = 0;
std::uintptr_t behind = 0;

std::uintptr_t number_of(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

// Sets the range if this is the object in which `init` lies.
int compare_object(dl_phdr_info* object, std::size_t, void* init) {
  std::uintptr_t low = ~std::uintptr_t{0}, high = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& part = object->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    low = std::min(low, object->dlpi_addr + part.p_vaddr);
    high = std::max(high, object->dlpi_addr + part.p_vaddr + part.p_memsz);
  }
  if (number_of(init) < low || number_of(init) >= high) return 0;
  first = low;
  behind = high;
  return 1;
}

void run_blocking(State& state, Task& task) {
  const std::scoped_lock alone{state.mutex};
  state.communicator->run(task.call, {.counts = task.counts});
  task.finish();
}

}  // namespace

void find_the_mpi(void* (*find)(const char*) noexcept) noexcept {
  dl_iterate_phdr(compare_object, find("PMPI_Init"));
}

bool is_from_the_mpi(const void* caller) noexcept {
  return number_of(caller) >= first && number_of(caller) < behind;
}

bool ChosenMpi::begin_chosen(const void* caller) const noexcept {
  if (is_from_the_mpi(caller) || state->reason != Reason::served ||
      state->same_calls.compare_next() || !choice->begin_if_mpis())
    return false;
  state->same_calls.begin();
  state->same_calls.add(calls);
  return true;
}

bool copies_input(const Error& error, Task& task) {
  Call& call = task.call;
  if (error.code() != ErrorCode::invalid_argument || call.in == nullptr || call.in == call.out)
    return false;
  task.copy.resize(call.in_count * call.element_bytes);
  copy_bytes(task.copy.data(), call.in, task.copy.size());
  call.in = task.copy.data();
  return true;
}

int raise(MPI_Comm comm, const Error& error) {
  const bool is_mismatch = error.code() == ErrorCode::mismatch;
  const int code = is_mismatch ? MPI_ERR_TRUNCATE : MPI_ERR_OTHER;
  if (!is_mismatch) warn_once(error.what());
  else
    warn_here(std::string{error.what()} +
              "; an MPI may accept that: TUTTI_MPI with the names of the other collectives leaves "
              "this one to it");
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

namespace {

// Compares the calls of all ranks, and their times if they are the same. The ranks do so by tutti's
// own collectives, since those of an MPI with more ranks than cores may take hundreds of times as
// long. @return whether the calls are the same.
bool compare(State& state) {
  const std::scoped_lock alone{state.mutex};
  if (!state.same_calls.are_same(*state.communicator)) return false;
  compare_times(state);
  return true;
}

// All ranks come here in the same call.
void compare_calls(State& state) try {
  if (state.reason != Reason::served || !state.same_calls.begin()) return;
  if (compare(state)) return state.choices.open_rounds();
  state.reason = Reason::other_counts;
  static std::atomic<bool> has_printed{false};
  if (state.rank == 0 && !has_printed.exchange(true))
    print_line(
        "ranks pass different counts to a collective; from now on the MPI runs the collectives of "
        "their communicator");
} catch (const Error&) {
  // A call before has failed the communicator, so the next one of tutti's fails, too. The MPI does
  // not take over: a rank that has ended its comparison before does not know of that. It has opened
  // rounds.
  state.choices.open_rounds();
}

}  // namespace

State* admit(MPI_Comm comm, const Origin& origin) {
  const auto reason = [&]() -> Reason {
    if (is_from_the_mpi(origin.caller)) return Reason::from_the_mpi;
    if (comm == MPI_COMM_NULL) return Reason::arguments;
    if (!has_world()) return Reason::no_world;
    return serves_any() ? Reason::served : Reason::off;
  }();
  if (reason != Reason::served) {
    count(reason);
    return nullptr;
  }
  State* const state = origin.form.starts() ? find_state(comm) : &state_of(comm);
  if (state != nullptr && state->communicator && !origin.form.starts()) compare_calls(*state);
  if (state != nullptr && state->reason == Reason::served) return state;
  if (state != nullptr && origin.chosen != nullptr && state->reason != Reason::is_young &&
      !reports_times())
    *origin.chosen = {.state = state, .freed = freed()};
  count(state == nullptr ? Reason::no_state : state->reason);
  return nullptr;
}

namespace {

void add_arrays(const Call& call) noexcept {
  if (call.in != nullptr && call.in != call.out)
    add_array(is_shared(call.in), call.in_count * call.element_bytes);
  if (call.out != nullptr) add_array(is_shared(call.out), call.out_count * call.element_bytes);
}

}  // namespace

int run(State& state, const Origin& origin, MPI_Comm comm, Task& task) {
  if (origin.form.is_prepared) return prepare(state, comm, std::move(task), origin.form.request);
  count(Reason::served);
  if (reports_times()) add_arrays(task.call);
  return run_step(comm, task, [&] {
    if (origin.form.starts()) start(state, task, origin.form.request);
    else run_blocking(state, task);
  });
}

}  // namespace tutti::dropin
