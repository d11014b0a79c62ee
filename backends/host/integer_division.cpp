#include "integer_division.hpp"

#include <cstdint>
#include <cstring>

#include <tutti/error.hpp>

namespace tutti::host {
namespace {

// Wide is at least 32 bits, so that the divisor fits where an element could not hold it.
template <class T, class Wide>
void divide(void* data, std::size_t count, int divisor) {
  auto* bytes = static_cast<std::byte*>(data);
  const auto by = static_cast<Wide>(divisor);
  for (std::size_t i = 0; i < count; ++i) {
    T value{};
    std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
    value = static_cast<T>(static_cast<Wide>(value) / by);
    std::memcpy(bytes + i * sizeof(T), &value, sizeof(T));
  }
}

}  // namespace

void divide_integers(Datatype type, void* data, std::size_t count, int divisor) {
  switch (type) {
    case Datatype::i8: return divide<std::int8_t, std::int32_t>(data, count, divisor);
    case Datatype::i16: return divide<std::int16_t, std::int32_t>(data, count, divisor);
    case Datatype::i32: return divide<std::int32_t, std::int32_t>(data, count, divisor);
    case Datatype::i64: return divide<std::int64_t, std::int64_t>(data, count, divisor);
    case Datatype::u8: return divide<std::uint8_t, std::uint32_t>(data, count, divisor);
    case Datatype::u16: return divide<std::uint16_t, std::uint32_t>(data, count, divisor);
    case Datatype::u32: return divide<std::uint32_t, std::uint32_t>(data, count, divisor);
    case Datatype::u64: return divide<std::uint64_t, std::uint64_t>(data, count, divisor);
    default: return expects(false, "only integers are divided as integers");
  }
}

}  // namespace tutti::host
