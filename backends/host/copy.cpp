#include <tutti/spi/copy.hpp>

#include "instruction_set.hpp"
#include "kernels.hpp"

namespace tutti::v0::detail {

void copy_by_vectors(void* to, const void* from, std::size_t bytes) noexcept {
  host::widest_kernels().copy(to, from, bytes);
}

}  // namespace tutti::v0::detail
