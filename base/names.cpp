// The names and sizes of the vocabulary: one table per enumeration.
#include <array>
#include <cstddef>
#include <string_view>

#include <tutti/determinism.hpp>
#include <tutti/error.hpp>
#include <tutti/operators.hpp>
#include <tutti/types.hpp>
#include <tutti/version.hpp>

namespace tutti::inline v0 {
namespace {

struct DatatypeRow {
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array<DatatypeRow, kDatatypes> kDatatypeRows{{
    {"i8", 1},
    {"i16", 2},
    {"i32", 4},
    {"i64", 8},
    {"u8", 1},
    {"u16", 2},
    {"u32", 4},
    {"u64", 8},
    {"f16", sizeof(Float16)},
    {"bf16", sizeof(BFloat16)},
    {"f32", sizeof(float)},
    {"f64", sizeof(double)},
    {"c32", sizeof(std::complex<float>)},
    {"c64", sizeof(std::complex<double>)},
    {"i32_index", sizeof(Indexed<std::int32_t>)},
    {"i64_index", sizeof(Indexed<std::int64_t>)},
    {"f32_index", sizeof(Indexed<float>)},
    {"f64_index", sizeof(Indexed<double>)},
    {"opaque", 0},
}};

constexpr std::array<std::string_view, kCollectives> kCollectiveNames{
    "all_reduce",     "reduce",     "broadcast", "scatter", "gather", "all_gather",
    "reduce_scatter", "all_to_all", "scan",      "exscan",  "barrier"};

constexpr std::array<std::string_view, 4> kPointToPointNames{"none", "send", "recv", "sendrecv"};

constexpr std::array<std::string_view, kOperatorKinds> kOperatorNames{
    "sum",        "prod",        "min",     "max",    "min_loc", "max_loc", "logical_and",
    "logical_or", "logical_xor", "bit_and", "bit_or", "bit_xor", "average", "user"};

constexpr std::array<std::string_view, 8> kErrorNames{"invalid_argument", "mismatch", "timeout",
                                                      "peer_dead",        "aborted",  "transport",
                                                      "object",           "bug"};

constexpr std::array<std::string_view, kDeterminisms> kDeterminismNames{
    "fast", "rank_identical", "run_to_run", "size_invariant", "layout_invariant"};

// A value outside the enumeration can only come from a cast; it gets a name that says so.
constexpr std::string_view kNoName = "unknown";

template <std::size_t N, class Enum>
constexpr std::string_view name_in(const std::array<std::string_view, N>& names, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : kNoName;
}

constexpr bool is_integer(Datatype type) {
  return type <= Datatype::u64;
}
constexpr bool is_real(Datatype type) {
  return type <= Datatype::f64;
}
constexpr bool is_number(Datatype type) {
  return type <= Datatype::c64;
}
constexpr bool is_indexed(Datatype type) {
  return type >= Datatype::i32_index && type <= Datatype::f64_index;
}

}  // namespace

std::size_t size_of(Datatype type) noexcept {
  const auto index = static_cast<std::size_t>(type);
  return index < kDatatypeRows.size() ? kDatatypeRows[index].bytes : 0;
}

std::string_view name_of(Datatype type) noexcept {
  const auto index = static_cast<std::size_t>(type);
  return index < kDatatypeRows.size() ? kDatatypeRows[index].name : kNoName;
}

std::string_view name_of(Collective collective) noexcept {
  return name_in(kCollectiveNames, collective);
}

std::string_view name_of(PointToPoint call) noexcept {
  return name_in(kPointToPointNames, call);
}

std::string_view name_of(OperatorKind kind) noexcept {
  return name_in(kOperatorNames, kind);
}

std::string_view name_of(Determinism level) noexcept {
  return name_in(kDeterminismNames, level);
}

std::string_view name_of(ErrorCode code) noexcept {
  return name_in(kErrorNames, code);
}

bool is_defined(OperatorKind kind, Datatype type) noexcept {
  switch (kind) {
    case OperatorKind::sum:
    case OperatorKind::prod:
    case OperatorKind::average: return is_number(type);
    case OperatorKind::min:
    case OperatorKind::max: return is_real(type);
    case OperatorKind::min_loc:
    case OperatorKind::max_loc: return is_indexed(type);
    case OperatorKind::logical_and:
    case OperatorKind::logical_or:
    case OperatorKind::logical_xor:
    case OperatorKind::bit_and:
    case OperatorKind::bit_or:
    case OperatorKind::bit_xor: return is_integer(type);
    case OperatorKind::user: return true;
  }
  return false;
}

std::string_view version() noexcept {
  return TUTTI_VERSION;
}

}  // namespace tutti::inline v0
