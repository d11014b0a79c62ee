#include "dropin/engine/blocks.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include <tutti/error.hpp>
#include <tutti/spi/copy.hpp>

namespace tutti::dropin {
namespace {

constexpr std::size_t kMost = std::numeric_limits<int>::max();  // bytes of a call of the MPI

// Elements that one call of the MPI packs.
std::size_t elements_per_call(std::size_t size) {
  return std::max<std::size_t>(1, kMost / std::max<std::size_t>(1, size));
}

void check(int code) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  PMPI_Error_string(code, text.data(), &length);
  throw Error{ErrorCode::transport,
              std::string{"the MPI does not pack the data of a datatype: "} + text.data()};
}

// Elements from address 0 on, which MPICH 4.0 does not pack from MPI_BOTTOM: a type that begins
// before its own address.
class FromZero {
 public:
  FromZero(int count, MPI_Datatype type) {
    const MPI_Aint back = -kAddress;
    PMPI_Type_create_hindexed(1, &count, &back, type, &type_);
    PMPI_Type_commit(&type_);
  }
  FromZero(const FromZero&) = delete;
  FromZero& operator=(const FromZero&) = delete;
  ~FromZero() { PMPI_Type_free(&type_); }
  [[nodiscard]] static void* address() { return reinterpret_cast<void*>(kAddress); }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

 private:
  static constexpr MPI_Aint kAddress = 4096;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

// @param move packs or unpacks elements of a type at an address, and the number of their bytes.
// @return a code of MPI.
template <class Move>
void in_pieces(const Block& block, std::byte* bytes, const Move& move) {
  const std::size_t size = facts_of(block.type).size;
  if (size == 0) return;
  const std::size_t most = elements_per_call(size);
  for (std::size_t done = 0; done < block.count; done += std::min(most, block.count - done)) {
    const auto now = static_cast<int>(std::min(most, block.count - done));
    void* const at = element_at(block.at, static_cast<std::ptrdiff_t>(done), block.type);
    std::byte* const packed = bytes + done * size;
    const int packed_bytes = now * static_cast<int>(size);
    if (at != nullptr) {
      check(move(at, now, block.type, packed, packed_bytes));
    } else {
      const FromZero elements{now, block.type};
      check(move(FromZero::address(), 1, elements.type(), packed, packed_bytes));
    }
  }
}

// Whether the blocks are one piece of memory, in order.
bool are_one_piece(std::span<const Block> blocks) {
  const void* end = nullptr;
  for (const Block& block : blocks) {
    if (block.count == 0) continue;
    const DatatypeFacts& facts = facts_of(block.type);
    if (!facts.is_contiguous || (end != nullptr && block.at != end)) return false;
    end = static_cast<std::byte*>(block.at) + block.count * facts.size;
  }
  return true;
}

}  // namespace

Bytes::Bytes(std::span<const Block> blocks) {
  if (blocks.size() > 1) counts_.reserve(blocks.size());
  for (const Block& block : blocks) {
    const std::size_t bytes = block.bytes();
    size_ += bytes;
    if (blocks.size() > 1) counts_.push_back(bytes);
  }
  if (size_ == 0) return;
  if (are_one_piece(blocks)) {
    data_ = std::ranges::find_if(blocks, [](const Block& block) { return block.count > 0; })->at;
    return;
  }
  copy_.resize(size_);
  data_ = copy_.data();
}

void Bytes::load(std::span<const Block> blocks) {
  std::byte* to = copy_.data();
  if (is_in_place()) return;
  for (const Block& block : blocks) {
    if (block.count == 0) continue;
    in_pieces(block, to,
              [](const void* elements, int count, MPI_Datatype type, void* bytes, int size) {
                int position = 0;
                return PMPI_Pack(elements, count, type, bytes, size, &position, MPI_COMM_SELF);
              });
    to += block.bytes();
  }
}

void Bytes::store(std::span<const Block> blocks) const {
  const std::byte* from = copy_.data();
  if (is_in_place()) return;
  for (const Block& block : blocks) {
    if (block.count == 0) continue;
    in_pieces(block, const_cast<std::byte*>(from),
              [](void* elements, int count, MPI_Datatype type, const void* bytes, int size) {
                int position = 0;
                return PMPI_Unpack(bytes, size, &position, elements, count, type, MPI_COMM_SELF);
              });
    from += block.bytes();
  }
}

bool puts_shorter(const Block& block, const Block& place, bool may_copy) {
  if (block.at == MPI_IN_PLACE || place.at == MPI_IN_PLACE) return true;
  if (!may_copy || block.bytes() >= place.bytes() || !facts_of(place.type).is_contiguous)
    return false;
  Bytes bytes{block};
  bytes.load(block);
  copy_bytes(place.at, bytes.data(), bytes.size());
  return true;
}

}  // namespace tutti::dropin
