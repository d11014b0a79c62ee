#include "dropin/engine/datatypes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <tutti/mpi.hpp>
#include <tutti/spi/copy.hpp>

#include "dropin/engine/freed.hpp"

namespace tutti::dropin {
namespace {

// Packs one element, whose bytes are a digit of their own positions. @return whether they keep
// their order.
bool packs_in_order(MPI_Datatype type, std::size_t bytes, unsigned digit) {
  std::vector<unsigned char> element(bytes), packed(bytes);
  for (std::size_t i = 0; i < bytes; ++i) element[i] = static_cast<unsigned char>(i >> (8 * digit));
  int position = 0;
  PMPI_Pack(element.data(), 1, type, packed.data(), static_cast<int>(bytes), &position,
            MPI_COMM_SELF);
  return packed == element;
}

// Whether the data of a type is its memory as it lies, as in a contiguous type of contiguous ones.
bool is_in_order(MPI_Datatype type, std::size_t bytes) {
  constexpr std::size_t kLargest = std::size_t{1} << 24;
  if (bytes == 0 || bytes > kLargest) return false;
  for (unsigned digit = 0; digit < 3; ++digit)
    if (!packs_in_order(type, bytes, digit)) return false;
  return true;
}

DatatypeFacts look_at(MPI_Datatype type) {
  DatatypeFacts facts;
  int size = 0;
  MPI_Aint begin = 0, true_begin = 0, true_extent = 0;
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  PMPI_Type_size(type, &size);  // negative if it does not fit
  PMPI_Type_get_extent(type, &begin, &facts.extent);
  PMPI_Type_get_true_extent(type, &true_begin, &true_extent);
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  facts.size = static_cast<std::size_t>(std::max(size, 0));
  facts.is_predefined = integers == 0 && addresses == 0 && types == 0;
  facts.is_block =
      size >= 0 && begin == 0 && true_begin >= 0 && true_begin + true_extent <= facts.extent;
  facts.is_contiguous = facts.is_block && size == facts.extent && true_begin == 0 &&
                        (facts.is_predefined || is_in_order(type, facts.size));
  if (!facts.is_predefined) return facts;
  const mpi::Elements elements = mpi::elements_of(type);
  facts.numbers = elements.numbers;
  facts.type = elements.type;
  return facts;
}

// Facts stay where they are, since readers keep references.
class Cache {
 public:
  const DatatypeFacts& at(MPI_Datatype type) {
    const std::scoped_lock lock{mutex_};
    const auto [place, is_new] = facts_.try_emplace(type);
    if (is_new) place->second = look_at(type);
    return place->second;
  }
  void forget(MPI_Datatype type) {
    const std::scoped_lock lock{mutex_};
    facts_.erase(type);
    freed_datatypes.fetch_add(1);
  }

 private:
  std::mutex mutex_{};
  std::unordered_map<MPI_Datatype, DatatypeFacts> facts_{};
};

Cache& cache() {
  static Cache* const cache = new Cache;  // types are freed until the process ends
  return *cache;
}

// The MPI's own reduction of elements, which also calls operators of the program.
Reduction by_mpi(MPI_Datatype type, MPI_Op op, const DatatypeFacts& facts, bool commutative) {
  const auto bytes = static_cast<std::size_t>(facts.extent);
  const auto reduce = [type, op, bytes](const void* left, void* right, std::size_t count) {
    constexpr std::size_t kOnce = std::numeric_limits<int>::max();
    for (std::size_t done = 0; done < count; done += std::min(count - done, kOnce))
      PMPI_Reduce_local(static_cast<const std::byte*>(left) + done * bytes,
                        static_cast<std::byte*>(right) + done * bytes,
                        static_cast<int>(std::min(count - done, kOnce)), type, op);
  };
  return {
      Datatype::opaque, bytes,
      Operator{[reduce, bytes](const void* left, const void* right, void* out, std::size_t count) {
                 if (out == right) return reduce(left, out, count);
                 if (out != left) {
                   copy_bytes(out, right, count * bytes);
                   return reduce(left, out, count);
                 }
                 std::vector<std::byte> result(count * bytes);
                 copy_bytes(result.data(), right, result.size());
                 reduce(left, result.data(), count);
                 copy_bytes(out, result.data(), result.size());
               },
               commutative}};
}

}  // namespace

const DatatypeFacts& facts_of(MPI_Datatype type) {
  struct Last {
    MPI_Datatype type{};
    unsigned freed = 0;
    const DatatypeFacts* facts = nullptr;
  };
  thread_local std::array<Last, 2> last;
  thread_local std::size_t oldest = 0;
  const unsigned freed = freed_datatypes.load(std::memory_order_acquire);
  for (const Last& one : last)
    if (one.type == type && one.freed == freed) return *one.facts;
  Last& replaced = last[oldest];
  oldest = 1 - oldest;
  replaced = {type, freed, &cache().at(type)};
  return *replaced.facts;
}

void forget(MPI_Datatype type) noexcept {
  cache().forget(type);
}

std::optional<Reduction> reduction_of(MPI_Datatype type, MPI_Op op) {
  const DatatypeFacts& facts = facts_of(type);
  if (const std::optional<OperatorKind> kind = mpi::operator_of(op)) {
    if (!mpi::is_defined_in_mpi(*kind, facts.numbers)) return std::nullopt;
    Reduction reduction =
        facts.type == Datatype::opaque
            ? by_mpi(type, op, facts, true)
            : Reduction{facts.type, static_cast<std::size_t>(facts.extent), Operator{*kind}};
    reduction.is_exact = facts.type != Datatype::opaque && !depends_on_order(*kind, facts.type);
    return reduction;
  }
  if (op == MPI_OP_NULL || !facts.is_block || facts.extent == 0) return std::nullopt;
  int commutative = 0;
  if (PMPI_Op_commutative(op, &commutative) != MPI_SUCCESS) return std::nullopt;
  return by_mpi(type, op, facts, commutative != 0);
}

}  // namespace tutti::dropin
