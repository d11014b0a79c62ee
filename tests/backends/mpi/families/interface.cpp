// The binary interface that a header describes; compiled with an MPI's own header, and with tutti's for its family.
#include <mpi.h>

#include "interface.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <typeinfo>

namespace {

template <class Value>
std::string text_of(Value value) {
  if constexpr (std::is_pointer_v<Value>)
    return std::to_string(reinterpret_cast<std::intptr_t>(value));
  else
    return std::to_string(value);
}

}  // namespace

Interface TUTTI_INTERFACE() {
  Interface interface {
    {"sizeof MPI_Status", text_of(sizeof(MPI_Status))},
        {"MPI_SOURCE", text_of(offsetof(MPI_Status, MPI_SOURCE))},
        {"MPI_TAG", text_of(offsetof(MPI_Status, MPI_TAG))},
        {"MPI_ERROR", text_of(offsetof(MPI_Status, MPI_ERROR))},
        {"sizeof MPI_Aint", text_of(sizeof(MPI_Aint))},
#include "interface_names.inc"  // the build lists what tutti's header declares
  };
  return interface;
}
