#include "dropin/engine/call.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/copy.hpp>

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

int raise(MPI_Comm comm, const Error& error) {
  const int code = error.code() == ErrorCode::mismatch ? MPI_ERR_TRUNCATE : MPI_ERR_OTHER;
  warn_once(error.what());
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

// MPI forbids buffers that overlap, but MPIs accept some, such as an own block that is given twice.
void run_from_copy(Communicator& communicator, Call call, const Options& options) {
  std::vector<std::byte> copy(call.in_count * call.element_bytes);
  copy_bytes(copy.data(), call.in, copy.size());
  call.in = copy.data();
  communicator.run(call, options);
}

}  // namespace

void find_the_mpi(void* (*find)(const char*) noexcept) noexcept {
  dl_iterate_phdr(compare_object, find("PMPI_Init"));
}

State* admit(MPI_Comm comm, const void* caller) {
  const auto reason = [&]() -> Reason {
    if (number_of(caller) >= first && number_of(caller) < behind) return Reason::from_the_mpi;
    if (comm == MPI_COMM_NULL) return Reason::arguments;
    return has_ended() ? Reason::at_the_end : Reason::served;
  }();
  if (reason != Reason::served) {
    count(reason);
    return nullptr;
  }
  State& state = state_of(comm);
  if (state.communicator) return &state;
  count(state.reason);
  return nullptr;
}

int run(State& state, MPI_Comm comm, const Call& call, const Options& options) {
  count(Reason::served);
  try {
    state.communicator->run(call, options);
    return MPI_SUCCESS;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument || call.in == nullptr || call.in == call.out)
      return raise(comm, error);
  }
  try {
    run_from_copy(*state.communicator, call, options);
    return MPI_SUCCESS;
  } catch (const Error& error) {
    return raise(comm, error);
  }
}

}  // namespace tutti::dropin
