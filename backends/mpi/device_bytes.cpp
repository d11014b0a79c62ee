#include "device_bytes.hpp"

#include <dlfcn.h>

#include <tutti/spi/transport.hpp>

#include "message.hpp"

namespace tutti::v0::mpi {

/// The question is in no standard: MPIs that have it differ in the header that declares it, and
/// others have none. All call it the same.
std::size_t device_bytes() noexcept {
  void* const found = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
  const bool is_aware = found != nullptr && reinterpret_cast<int (*)()>(found)() != 0;
  return is_aware ? kInlineBytes + 1 : Capabilities{}.device_bytes;
}

}  // namespace tutti::v0::mpi
