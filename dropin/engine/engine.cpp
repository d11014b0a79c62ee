// The engine of a family of MPIs: it serves the program's collectives by tutti.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <tutti/export.hpp>

#include "dropin/engine/call.hpp"
#include "dropin/engine/datatypes.hpp"
#include "dropin/engine/movements.hpp"
#include "dropin/engine/mpi_functions.hpp"
#include "dropin/engine/reductions.hpp"
#include "dropin/engine/report.hpp"
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

struct Entry {
  std::string_view name;
  const void* function;
};

template <class Function>
const void* address(Function* function) {
  return reinterpret_cast<const void*>(function);
}

template <class Count>
std::array<Entry, 15> collectives() {
  return {{
      {"Allgather", address(allgather<Count>)},
      {"Allgatherv", address(allgatherv<Count>)},
      {"Allreduce", address(allreduce<Count>)},
      {"Alltoall", address(alltoall<Count>)},
      {"Alltoallv", address(alltoallv<Count>)},
      {"Alltoallw", address(alltoallw<Count>)},
      {"Bcast", address(bcast<Count>)},
      {"Exscan", address(exscan<Count>)},
      {"Gather", address(gather<Count>)},
      {"Gatherv", address(gatherv<Count>)},
      {"Reduce", address(reduce<Count>)},
      {"Reduce_scatter", address(reduce_scatter<Count>)},
      {"Reduce_scatter_block", address(reduce_scatter_block<Count>)},
      {"Scan", address(scan<Count>)},
      {"Scatter", address(scatter<Count>)},
  }};
}

const void* find_among(const auto& entries, std::string_view name) {
  for (const Entry& entry : entries)
    if (entry.name == name) return entry.function;
  return nullptr;
}

bool is_collective(std::string_view name) {
  const auto is_name = [name](std::string_view known) { return lower(known) == name; };
  return is_name("Barrier") || is_name("Scatterv") ||
         std::ranges::any_of(collectives<int>(), is_name, &Entry::name);
}

void begin() noexcept {
  read_settings(is_collective);
  keep_until_finalize();
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

// The functions that end in _c have their names even in MPIs without them, so they are always
// served.
const void* serve(const char* function) noexcept {
  std::string_view name{function};
  if (name == "Init") return address(init);
  if (name == "Init_thread") return address(init_thread);
  if (name == "Type_free") return address(type_free);
  const bool is_large = name.ends_with("_c");
  if (is_large) name.remove_suffix(2);
  if (!is_wanted(name) &&
      !(is_large && find_in_mpi((std::string{"PMPI_"} + function).c_str()) == nullptr))
    return nullptr;
  if (name == "Barrier") return address(barrier);
  if (name == "Scatterv") return is_large ? address(scatterv<Large>) : address(scatterv<int>);
  return is_large ? find_among(collectives<Large>(), name) : find_among(collectives<int>(), name);
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
