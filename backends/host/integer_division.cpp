#include "integer_division.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <tutti/error.hpp>

namespace tutti::host {
namespace {

template <class T>
void divide(void* data, std::size_t count, int divisor) {
  using Wide = decltype(T{} + T{});  // has 32 bits or more, as the divisor
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
  expects(is_integer(type), "only integers are divided as integers");
  with_element_type(type, [&]<class T>(const ElementType<T>&) {
    if constexpr (std::is_integral_v<T>) divide<T>(data, count, divisor);
  });
}

}  // namespace tutti::host
