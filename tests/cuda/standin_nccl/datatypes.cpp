#include "datatypes.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "failure.hpp"

namespace tutti::nccl_standin {
namespace {

float value_of(__half element) {
  return __half2float(element);
}
float value_of(__nv_bfloat16 element) {
  return __bfloat162float(element);
}
template <class T>
T value_of(T element) {
  return element;
}

template <class T, class Value>
T element_of(Value value) {
  if constexpr (std::is_same_v<T, __half>) return __float2half_rn(value);
  else if constexpr (std::is_same_v<T, __nv_bfloat16>) return __float2bfloat16_rn(value);
  else return static_cast<T>(value);
}

// Integers wrap around, which only those without a sign may do.
template <class Value, class Function>
Value apply_wrapping(Value a, Value b, Function function) {
  if constexpr (std::is_integral_v<Value>) {
    return static_cast<Value>(
        function(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  } else {
    return function(a, b);
  }
}

template <class Value>
Value combine(ncclRedOp_t op, Value a, Value b) {
  switch (op) {
    case ncclProd: return apply_wrapping(a, b, [](auto x, auto y) { return x * y; });
    case ncclMax: return std::max(a, b);
    case ncclMin: return std::min(a, b);
    default: return apply_wrapping(a, b, [](auto x, auto y) { return x + y; });
  }
}

// Elements may lie at any address.
template <class T>
T load(const std::byte* from, std::size_t index) {
  T element;
  std::memcpy(&element, from + index * sizeof element, sizeof element);
  return element;
}
template <class T>
void store(T element, std::byte* into, std::size_t index) {
  std::memcpy(into + index * sizeof element, &element, sizeof element);
}

/// Calls a function with an element of a datatype.
template <class Function>
void with_element(ncclDataType_t datatype, Function function) {
  switch (datatype) {
    case ncclInt8: return function(std::int8_t{});
    case ncclUint8: return function(std::uint8_t{});
    case ncclInt32: return function(std::int32_t{});
    case ncclUint32: return function(std::uint32_t{});
    case ncclInt64: return function(std::int64_t{});
    case ncclUint64: return function(std::uint64_t{});
    case ncclFloat16: return function(__half{});
    case ncclFloat32: return function(float{});
    case ncclFloat64: return function(double{});
    case ncclBfloat16: return function(__nv_bfloat16{});
    default: throw Failure{ncclInvalidArgument, "there is no such datatype"};
  }
}

}  // namespace

std::size_t size_of(ncclDataType_t datatype) noexcept {
  switch (datatype) {
    case ncclInt8:
    case ncclUint8: return 1;
    case ncclFloat16:
    case ncclBfloat16: return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32: return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64: return 8;
    default: return 0;
  }
}

bool is_operator(ncclRedOp_t op) noexcept {
  return op >= ncclSum && op < ncclNumOps;
}

void accumulate(const Reduction& reduction, std::byte* into, const std::byte* from) {
  with_element(reduction.datatype, [&]<class T>(T) {
    for (std::size_t i = 0; i < reduction.count; ++i) {
      const auto combined =
          combine(reduction.op, value_of(load<T>(into, i)), value_of(load<T>(from, i)));
      store(element_of<T>(combined), into, i);
    }
  });
}

void finish(const Reduction& reduction, std::byte* sums, int ranks) {
  if (reduction.op != ncclAvg) return;
  with_element(reduction.datatype, [&]<class T>(T) {
    using Value = decltype(value_of(T{}));
    for (std::size_t i = 0; i < reduction.count; ++i) {
      const auto mean = value_of(load<T>(sums, i)) / static_cast<Value>(ranks);
      store(element_of<T>(mean), sums, i);
    }
  });
}

}  // namespace tutti::nccl_standin
