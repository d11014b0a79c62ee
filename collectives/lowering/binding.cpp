#include "binding.hpp"

namespace tutti::v0::detail {

bool is_in_place(const Binding& binding, RunBuffers buffers) noexcept {
  const auto in = reinterpret_cast<std::uintptr_t>(buffers.in);
  const auto out = reinterpret_cast<std::uintptr_t>(buffers.out);
  const std::size_t in_bytes = binding.layout().in_total() * binding.element_bytes;
  const std::size_t out_bytes = binding.layout().out_total() * binding.element_bytes;
  // A buffer that the rank does not read or write may have any pointer.
  return in_bytes > 0 && out_bytes > 0 && in < out + out_bytes && out < in + in_bytes;
}

void set_exponents(const Combination& combination, std::span<const Place> places,
                   std::span<std::int8_t> exponents) noexcept {
  for (std::size_t i = 0; i < exponents.size(); ++i)
    exponents[i] = static_cast<std::int8_t>(places[i].exponent - combination.destination.exponent);
}

}  // namespace tutti::v0::detail
