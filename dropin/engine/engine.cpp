// The engine of a family of MPIs: it serves the program's collectives by tutti.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <tutti/export.hpp>

#include "dropin/engine/call.hpp"
#include "dropin/engine/datatypes.hpp"
#include "dropin/engine/memory.hpp"
#include "dropin/engine/movements.hpp"
#include "dropin/engine/mpi_functions.hpp"
#include "dropin/engine/pending.hpp"
#include "dropin/engine/reductions.hpp"
#include "dropin/engine/report.hpp"
#include "dropin/engine/requests.hpp"
#include "dropin/engine/served.hpp"
#include "dropin/engine/state.hpp"
#include "dropin/interface.hpp"

// functions.s has the MPI's functions that the engine calls, as PMPI_X and MPI_X.
extern "C" {
extern const char* const tutti_mpi_called[];
extern void* tutti_mpi_callees[];
extern const unsigned long tutti_mpi_number_called;
}

namespace tutti::dropin {
namespace {

void* (*finder)(const char*) noexcept = nullptr;

int type_free(MPI_Datatype* type) {
  if (type != nullptr) forget(*type);
  return PMPI_Type_free(type);
}

template <class Function>
const void* address(Function* function) {
  return reinterpret_cast<const void*>(function);
}

struct Entry {
  std::string_view name;  // in small letters
  const void* blocking;
  const void* starting;
  const void* preparing;
};

// Apart from the way of calls like recent ones, which is short.
template <auto kFunction, class... A>
[[gnu::noinline]] int block_first(RecentCalls<A...>* recent, const void* caller, A... arguments) {
  ChosenMpi chosen;  // not among the recent ones: an error handler of the program may add there too
  const int code = kFunction(Origin{caller, {}, &chosen}, arguments...);
  if (chosen.state != nullptr && recent != nullptr) recent->add(chosen, arguments...);
  return code;
}

// Functions of MPI's types, of one that knows where the call comes from.
template <Name kName, class Count, auto kFunction, class... A>
int block(A... arguments) {
  static constinit thread_local RecentCalls<A...> recent;
  void* const function = blocking_function<kName, Count>();
  const void* const caller = __builtin_return_address(0);
  if (recent.begin_again(caller, arguments...))
    return reinterpret_cast<int (*)(A...)>(function)(arguments...);
  return block_first<kFunction>(function == nullptr ? nullptr : &recent, caller, arguments...);
}
template <auto kFunction, class... A>
int start_call(A... arguments, MPI_Request* request) {
  return kFunction(Origin{__builtin_return_address(0), {.request = request}}, arguments...);
}
template <auto kFunction, class... A>
int prepare_call(A... arguments, Info info, MPI_Request* request) {
  return kFunction(Origin{__builtin_return_address(0), {request, true, info}}, arguments...);
}
template <Name kName, class Count, auto kFunction, class... A>
Entry entry(int (*)(const Origin&, A...)) {
  static constexpr Name kOwn = kName;
  return {kOwn.view(), reinterpret_cast<const void*>(&block<kName, Count, kFunction, A...>),
          reinterpret_cast<const void*>(
              static_cast<int (*)(A..., MPI_Request*)>(&start_call<kFunction, A...>)),
          reinterpret_cast<const void*>(
              static_cast<int (*)(A..., Info, MPI_Request*)>(&prepare_call<kFunction, A...>))};
}
template <Name kName, class Count, auto kFunction>
Entry entry() {
  return entry<kName, Count, kFunction>(kFunction);
}

template <class Count>
auto collectives() {
  return std::array{
      entry<"allgather", Count, allgather<Count>>(),
      entry<"allgatherv", Count, allgatherv<Count>>(),
      entry<"allreduce", Count, allreduce<Count>>(),
      entry<"alltoall", Count, alltoall<Count>>(),
      entry<"alltoallv", Count, alltoallv<Count>>(),
      entry<"alltoallw", Count, alltoallw<Count>>(),
      entry<"barrier", int, barrier>(),
      entry<"bcast", Count, bcast<Count>>(),
      entry<"exscan", Count, exscan<Count>>(),
      entry<"gather", Count, gather<Count>>(),
      entry<"gatherv", Count, gatherv<Count>>(),
      entry<"reduce", Count, reduce<Count>>(),
      entry<"reduce_scatter", Count, reduce_scatter<Count>>(),
      entry<"reduce_scatter_block", Count, reduce_scatter_block<Count>>(),
      entry<"scan", Count, scan<Count>>(),
      entry<"scatter", Count, scatter<Count>>(),
      entry<"scatterv", Count, scatterv<Count>>(),
  };
}

// @param name in small letters.
bool is_collective(std::string_view name) {
  return std::ranges::any_of(collectives<int>(),
                             [name](const Entry& entry) { return entry.name == name; });
}

void begin() noexcept {
  read_settings(is_collective);
  agree_on_served();
  keep_until_finalize();
  prepare_requests();
  prepare_memory();
}

int init(int* count, char*** arguments) {
  const int code = PMPI_Init(count, arguments);
  if (code == MPI_SUCCESS) begin();
  return code;
}

int init_thread(int* count, char*** arguments, int required, int* provided) {
  const int code = PMPI_Init_thread(count, arguments, required, provided);
  if (code == MPI_SUCCESS) begin();
  return code;
}

// Functions with large counts are named "Bcast_c", those that start a call "Ibcast" or "Ibcast_c",
// and those that prepare one "Bcast_init" or "Bcast_init_c". All of them have their names even in
// MPIs without them, so those are never the MPI's.
const void* serve_collective(const char* function, std::string_view name) noexcept {
  constexpr std::string_view kLarge = "_c", kInit = "_init";
  const bool is_large = name.ends_with(kLarge);
  std::string_view word = name.substr(0, name.size() - (is_large ? kLarge.size() : 0));
  const bool prepares = word.ends_with(kInit);
  if (prepares) word.remove_suffix(kInit.size());
  for (const Entry& entry : is_large ? collectives<Large>() : collectives<int>()) {
    const bool starts = word.front() == 'I' && word.substr(1) == entry.name;
    if (lower(word) != entry.name && !starts) continue;
    const bool is_wanted = least_bytes(entry.name) != Served::kNever;
    if (!is_wanted && find_in_mpi(function) != nullptr) return nullptr;
    return prepares ? entry.preparing : starts ? entry.starting : entry.blocking;
  }
  return nullptr;
}

// @param function such as "PMPI_Send", or "PMPIX_Bcast_init", which is "PMPI_Bcast_init" by its
// older name.
const void* serve(const char* function) noexcept {
  std::string_view name{function};
  name.remove_prefix(name.find('_') + 1);
  if (name == "Init") return address(init);
  if (name == "Init_thread") return address(init_thread);
  if (name == "Type_free") return address(type_free);
  if (const void* const found = find_request_function(name)) return found;
  if (const void* const found = find_memory_function(name)) return found;
  return serve_collective(function, name);
}

}  // namespace

void* find_in_mpi(const char* name) noexcept {
  return finder(name);
}

}  // namespace tutti::dropin

extern "C" TUTTI_API tutti::dropin::Serve tutti_mpi_engine(
    const tutti::dropin::Front* front) noexcept {
  using namespace tutti::dropin;
  if (front->version != kVersion) return nullptr;
  finder = front->find;
  for (unsigned long i = 0; i < tutti_mpi_number_called; ++i)
    tutti_mpi_callees[i] = front->find(tutti_mpi_called[i]);
  find_the_mpi(front->find);
  return serve;
}
