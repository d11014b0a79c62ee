#include "dropin/engine/datatypes.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <limits>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tutti/spi/copy.hpp>

namespace tutti::dropin {
namespace {

struct Predefined {
  std::string_view name;
  Numbers numbers;
  bool is_signed = true;
};

// Names are those that MPI gives its datatypes; sizes come from the MPI.
constexpr auto kPredefined = [] {
  using enum Numbers;
  return std::array{
      Predefined{"MPI_SIGNED_CHAR", integers},
      Predefined{"MPI_SHORT", integers},
      Predefined{"MPI_INT", integers},
      Predefined{"MPI_LONG", integers},
      Predefined{"MPI_LONG_LONG", integers},
      Predefined{"MPI_LONG_LONG_INT", integers},
      Predefined{"MPI_INT8_T", integers},
      Predefined{"MPI_INT16_T", integers},
      Predefined{"MPI_INT32_T", integers},
      Predefined{"MPI_INT64_T", integers},
      Predefined{"MPI_AINT", integers},
      Predefined{"MPI_COUNT", integers},
      Predefined{"MPI_OFFSET", integers},
      Predefined{"MPI_INTEGER", integers},
      Predefined{"MPI_INTEGER1", integers},
      Predefined{"MPI_INTEGER2", integers},
      Predefined{"MPI_INTEGER4", integers},
      Predefined{"MPI_INTEGER8", integers},
      Predefined{"MPI_UNSIGNED_CHAR", integers, false},
      Predefined{"MPI_UNSIGNED_SHORT", integers, false},
      Predefined{"MPI_UNSIGNED", integers, false},
      Predefined{"MPI_UNSIGNED_LONG", integers, false},
      Predefined{"MPI_UNSIGNED_LONG_LONG", integers, false},
      Predefined{"MPI_UINT8_T", integers, false},
      Predefined{"MPI_UINT16_T", integers, false},
      Predefined{"MPI_UINT32_T", integers, false},
      Predefined{"MPI_UINT64_T", integers, false},
      Predefined{"MPI_BYTE", bits, false},
      Predefined{"MPI_FLOAT", reals},
      Predefined{"MPI_DOUBLE", reals},
      Predefined{"MPI_LONG_DOUBLE", reals},
      Predefined{"MPI_REAL", reals},
      Predefined{"MPI_REAL4", reals},
      Predefined{"MPI_REAL8", reals},
      Predefined{"MPI_REAL16", reals},
      Predefined{"MPI_DOUBLE_PRECISION", reals},
      Predefined{"MPI_C_COMPLEX", complex_numbers},
      Predefined{"MPI_C_FLOAT_COMPLEX", complex_numbers},
      Predefined{"MPI_C_DOUBLE_COMPLEX", complex_numbers},
      Predefined{"MPI_C_LONG_DOUBLE_COMPLEX", complex_numbers},
      Predefined{"MPI_CXX_FLOAT_COMPLEX", complex_numbers},
      Predefined{"MPI_CXX_DOUBLE_COMPLEX", complex_numbers},
      Predefined{"MPI_CXX_LONG_DOUBLE_COMPLEX", complex_numbers},
      Predefined{"MPI_COMPLEX", complex_numbers},
      Predefined{"MPI_COMPLEX8", complex_numbers},
      Predefined{"MPI_COMPLEX16", complex_numbers},
      Predefined{"MPI_COMPLEX32", complex_numbers},
      Predefined{"MPI_DOUBLE_COMPLEX", complex_numbers},
      Predefined{"MPI_C_BOOL", truth_values, false},
      Predefined{"MPI_CXX_BOOL", truth_values, false},
      Predefined{"MPI_LOGICAL", truth_values, false},
      Predefined{"MPI_LOGICAL1", truth_values, false},
      Predefined{"MPI_LOGICAL2", truth_values, false},
      Predefined{"MPI_LOGICAL4", truth_values, false},
      Predefined{"MPI_LOGICAL8", truth_values, false},
      Predefined{"MPI_2INT", pairs},
      Predefined{"MPI_2INTEGER", pairs},
      Predefined{"MPI_LONG_INT", pairs},
      Predefined{"MPI_FLOAT_INT", pairs},
      Predefined{"MPI_DOUBLE_INT", pairs},
      Predefined{"MPI_SHORT_INT", pairs},
      Predefined{"MPI_LONG_DOUBLE_INT", pairs},
      Predefined{"MPI_2REAL", pairs},
      Predefined{"MPI_2DOUBLE_PRECISION", pairs},
  };
}();

// The integer of a size; opaque if there is none.
Datatype integer_of(std::size_t bytes, bool is_signed) {
  switch (bytes) {
    case 1: return is_signed ? Datatype::i8 : Datatype::u8;
    case 2: return is_signed ? Datatype::i16 : Datatype::u16;
    case 4: return is_signed ? Datatype::i32 : Datatype::u32;
    case 8: return is_signed ? Datatype::i64 : Datatype::u64;
    default: return Datatype::opaque;
  }
}

Datatype pair_of(std::string_view name) {
  if (name == "MPI_2INT" || name == "MPI_2INTEGER") return Datatype::i32_index;
  if (name == "MPI_LONG_INT") return Datatype::i64_index;
  if (name == "MPI_FLOAT_INT") return Datatype::f32_index;
  if (name == "MPI_DOUBLE_INT") return Datatype::f64_index;
  return Datatype::opaque;
}

Datatype type_of(const Predefined& predefined, std::size_t bytes) {
  switch (predefined.numbers) {
    case Numbers::integers:
    case Numbers::bits:
    case Numbers::truth_values: return integer_of(bytes, predefined.is_signed);
    case Numbers::reals:
      return bytes == 4 ? Datatype::f32 : bytes == 8 ? Datatype::f64 : Datatype::opaque;
    case Numbers::complex_numbers:
      return bytes == 8 ? Datatype::c32 : bytes == 16 ? Datatype::c64 : Datatype::opaque;
    case Numbers::pairs: return pair_of(predefined.name);
    case Numbers::none: break;
  }
  return Datatype::opaque;
}

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
  std::array<char, MPI_MAX_ERROR_STRING> name{};
  int length = 0;
  PMPI_Type_get_name(type, name.data(), &length);
  const std::string_view text{name.data()};
  const auto* const found = std::ranges::find(kPredefined, text, &Predefined::name);
  if (found == kPredefined.end()) return facts;
  facts.numbers = found->numbers;
  facts.type = type_of(*found, found->numbers == Numbers::pairs ? 0 : facts.size);
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
    generation_.fetch_add(1);
  }
  [[nodiscard]] unsigned generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  std::mutex mutex_{};
  std::unordered_map<MPI_Datatype, DatatypeFacts> facts_{};
  std::atomic<unsigned> generation_{1};
};

Cache& cache() {
  static Cache* const cache = new Cache;  // types are freed until the process ends
  return *cache;
}

std::optional<OperatorKind> kind_of(MPI_Op op) {
  static const std::array<std::pair<MPI_Op, OperatorKind>, 12> kinds{{
      {MPI_SUM, OperatorKind::sum},
      {MPI_PROD, OperatorKind::prod},
      {MPI_MIN, OperatorKind::min},
      {MPI_MAX, OperatorKind::max},
      {MPI_MINLOC, OperatorKind::min_loc},
      {MPI_MAXLOC, OperatorKind::max_loc},
      {MPI_LAND, OperatorKind::logical_and},
      {MPI_LOR, OperatorKind::logical_or},
      {MPI_LXOR, OperatorKind::logical_xor},
      {MPI_BAND, OperatorKind::bit_and},
      {MPI_BOR, OperatorKind::bit_or},
      {MPI_BXOR, OperatorKind::bit_xor},
  }};
  for (const auto& [handle, kind] : kinds)
    if (handle == op) return kind;
  return std::nullopt;
}

// Whether MPI defines an operator on a kind of elements.
bool is_defined_in_mpi(OperatorKind kind, Numbers numbers) {
  using enum OperatorKind;
  const bool is_logical = kind == logical_and || kind == logical_or || kind == logical_xor;
  const bool is_bitwise = kind == bit_and || kind == bit_or || kind == bit_xor;
  const bool is_place = kind == min_loc || kind == max_loc;
  switch (numbers) {
    case Numbers::integers: return !is_place;
    case Numbers::bits: return is_bitwise;
    case Numbers::reals: return !is_place && !is_logical && !is_bitwise;
    case Numbers::complex_numbers: return kind == sum || kind == prod;
    case Numbers::truth_values: return is_logical;
    case Numbers::pairs: return is_place;
    case Numbers::none: break;
  }
  return false;
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
    unsigned generation = 0;
    const DatatypeFacts* facts = nullptr;
  };
  thread_local std::array<Last, 2> last;
  thread_local std::size_t oldest = 0;
  const unsigned generation = cache().generation();
  for (const Last& one : last)
    if (one.type == type && one.generation == generation) return *one.facts;
  Last& replaced = last[oldest];
  oldest = 1 - oldest;
  replaced = {type, generation, &cache().at(type)};
  return *replaced.facts;
}

void forget(MPI_Datatype type) noexcept {
  cache().forget(type);
}

std::optional<Reduction> reduction_of(MPI_Datatype type, MPI_Op op) {
  const DatatypeFacts& facts = facts_of(type);
  if (const std::optional<OperatorKind> kind = kind_of(op)) {
    if (!is_defined_in_mpi(*kind, facts.numbers)) return std::nullopt;
    if (facts.type == Datatype::opaque) return by_mpi(type, op, facts, true);
    return Reduction{facts.type, static_cast<std::size_t>(facts.extent), Operator{*kind}};
  }
  if (op == MPI_OP_NULL || !facts.is_block || facts.extent == 0) return std::nullopt;
  int commutative = 0;
  if (PMPI_Op_commutative(op, &commutative) != MPI_SUCCESS) return std::nullopt;
  return by_mpi(type, op, facts, commutative != 0);
}

}  // namespace tutti::dropin
