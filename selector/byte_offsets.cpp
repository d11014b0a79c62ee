#include "byte_offsets.hpp"

#include <string>

#include <tutti/error.hpp>
#include <tutti/spi/contract.hpp>

namespace tutti::v0 {

ByteOffsets offsets_of(std::uint32_t units, std::span<const std::size_t> block_bytes,
                       std::size_t element_bytes) {
  if (element_bytes == 0 || block_bytes.empty() || units % block_bytes.size() != 0)
    throw Error{ErrorCode::invalid_argument,
                "cannot cut " + std::to_string(block_bytes.size()) + " blocks of elements of " +
                    std::to_string(element_bytes) + " bytes into " + std::to_string(units) +
                    " units: the units must be a multiple of the blocks"};
  const std::size_t parts = units / block_bytes.size();
  ByteOffsets offsets{{0}};
  for (const std::size_t bytes : block_bytes) {
    const Partition partition{bytes / element_bytes, parts};
    for (std::size_t part = 0; part < parts; ++part)
      offsets.begin.push_back(offsets.begin.back() +
                              static_cast<std::int64_t>(partition.size(part) * element_bytes));
  }
  return offsets;
}

}  // namespace tutti::v0
