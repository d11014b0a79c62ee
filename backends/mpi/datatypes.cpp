// Predefined datatypes and operators of MPI as tutti's, both ways.
#include "datatypes.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <tutti/mpi.hpp>

namespace tutti::v0::mpi {
namespace {

static_assert(sizeof(long) == sizeof(std::int64_t), "MPI_LONG_INT stands for Indexed<int64_t>");

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

}  // namespace

Elements elements_of(MPI_Datatype type) {
  std::array<char, MPI_MAX_ERROR_STRING> name{};
  int length = 0;
  PMPI_Type_get_name(type, name.data(), &length);
  const std::string_view text{name.data()};
  const auto* const found = std::ranges::find(kPredefined, text, &Predefined::name);
  if (found == kPredefined.end()) return {};
  int size = 0;
  PMPI_Type_size(type, &size);
  return {found->numbers, type_of(*found, static_cast<std::size_t>(size))};
}

bool is_defined_in_mpi(OperatorKind kind, Numbers numbers) noexcept {
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

std::optional<Datatype> datatype_of(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (integers + addresses + types != 0) return std::nullopt;
  const Elements elements = elements_of(type);
  if (elements.type == Datatype::opaque) return std::nullopt;
  return elements.type;
}

MPI_Datatype mpi_datatype_of(Datatype type) noexcept {
  switch (type) {
    case Datatype::i8: return MPI_INT8_T;
    case Datatype::i16: return MPI_INT16_T;
    case Datatype::i32: return MPI_INT32_T;
    case Datatype::i64: return MPI_INT64_T;
    case Datatype::u8: return MPI_UINT8_T;
    case Datatype::u16: return MPI_UINT16_T;
    case Datatype::u32: return MPI_UINT32_T;
    case Datatype::u64: return MPI_UINT64_T;
    case Datatype::f32: return MPI_FLOAT;
    case Datatype::f64: return MPI_DOUBLE;
    case Datatype::c32: return MPI_CXX_FLOAT_COMPLEX;
    case Datatype::c64: return MPI_CXX_DOUBLE_COMPLEX;
    case Datatype::i32_index: return MPI_2INT;
    case Datatype::i64_index: return MPI_LONG_INT;
    case Datatype::f32_index: return MPI_FLOAT_INT;
    case Datatype::f64_index: return MPI_DOUBLE_INT;
    case Datatype::f16:
    case Datatype::bf16:
    case Datatype::opaque: break;
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op mpi_operator_of(OperatorKind kind) noexcept {
  switch (kind) {
    case OperatorKind::sum: return MPI_SUM;
    case OperatorKind::prod: return MPI_PROD;
    case OperatorKind::min: return MPI_MIN;
    case OperatorKind::max: return MPI_MAX;
    case OperatorKind::min_loc: return MPI_MINLOC;
    case OperatorKind::max_loc: return MPI_MAXLOC;
    case OperatorKind::logical_and: return MPI_LAND;
    case OperatorKind::logical_or: return MPI_LOR;
    case OperatorKind::logical_xor: return MPI_LXOR;
    case OperatorKind::bit_and: return MPI_BAND;
    case OperatorKind::bit_or: return MPI_BOR;
    case OperatorKind::bit_xor: return MPI_BXOR;
    case OperatorKind::average:
    case OperatorKind::user: break;
  }
  return MPI_OP_NULL;
}

std::optional<OperatorKind> operator_of(MPI_Op op) noexcept {
  if (op == MPI_OP_NULL) return std::nullopt;
  for (int i = 0; i < kOperatorKinds; ++i)
    if (const auto kind = static_cast<OperatorKind>(i); mpi_operator_of(kind) == op) return kind;
  return std::nullopt;
}

}  // namespace tutti::v0::mpi
