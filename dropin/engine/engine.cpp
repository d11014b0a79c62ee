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
  std::string_view name;  // of the function that blocks
  const void* blocking;
  const void* starting;
  const void* preparing;
};

// Functions of MPI's types, of one that knows where the call comes from.
template <auto kFunction, class... A>
int block(A... arguments) {
  return kFunction(Origin{__builtin_return_address(0), {}}, arguments...);
}
template <auto kFunction, class... A>
int start_call(A... arguments, MPI_Request* request) {
  return kFunction(Origin{__builtin_return_address(0), {.request = request}}, arguments...);
}
template <auto kFunction, class... A>
int prepare_call(A... arguments, Info info, MPI_Request* request) {
  return kFunction(Origin{__builtin_return_address(0), {request, true, info}}, arguments...);
}
template <auto kFunction, class... A>
Entry entry(std::string_view name, int (*)(const Origin&, A...)) {
  return {name, reinterpret_cast<const void*>(&block<kFunction, A...>),
          reinterpret_cast<const void*>(
              static_cast<int (*)(A..., MPI_Request*)>(&start_call<kFunction, A...>)),
          reinterpret_cast<const void*>(
              static_cast<int (*)(A..., Info, MPI_Request*)>(&prepare_call<kFunction, A...>))};
}
template <auto kFunction>
Entry entry(std::string_view name) {
  return entry<kFunction>(name, kFunction);
}

template <class Count>
auto collectives() {
  return std::array{
      entry<allgather<Count>>("Allgather"),
      entry<allgatherv<Count>>("Allgatherv"),
      entry<allreduce<Count>>("Allreduce"),
      entry<alltoall<Count>>("Alltoall"),
      entry<alltoallv<Count>>("Alltoallv"),
      entry<alltoallw<Count>>("Alltoallw"),
      entry<barrier>("Barrier"),
      entry<bcast<Count>>("Bcast"),
      entry<exscan<Count>>("Exscan"),
      entry<gather<Count>>("Gather"),
      entry<gatherv<Count>>("Gatherv"),
      entry<reduce<Count>>("Reduce"),
      entry<reduce_scatter<Count>>("Reduce_scatter"),
      entry<reduce_scatter_block<Count>>("Reduce_scatter_block"),
      entry<scan<Count>>("Scan"),
      entry<scatter<Count>>("Scatter"),
      entry<scatterv<Count>>("Scatterv"),
  };
}

// @param name in small letters.
bool is_collective(std::string_view name) {
  return std::ranges::any_of(collectives<int>(),
                             [name](const Entry& entry) { return lower(entry.name) == name; });
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
    const bool starts = word.front() == 'I' && word.substr(1) == lower(entry.name);
    if (word != entry.name && !starts) continue;
    const bool is_wanted = least_bytes(lower(entry.name)) != Served::kNever;
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
