/// @file
/// An object's bytes that come little by little.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <tutti/codec.hpp>

namespace tutti::samples {

/// Hands out what is wanted and as much beyond it as a seed decides, each time in other memory;
/// what it handed out before is gone.
class Portions final : public Arrivals {
 public:
  Portions(std::span<const std::byte> bytes, std::uint64_t seed) : bytes_{bytes}, state_{seed} {}

  std::span<const std::byte> await(std::size_t from, std::size_t bytes) override {
    expects(bytes > 0 && from >= from_ && from + bytes <= bytes_.size(), "what is wanted is there");
    from_ = from;
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    const std::size_t more = (state_ >> 33) % 40;
    const auto part = bytes_.subspan(from, std::min(bytes + more, bytes_.size() - from));
    portion_ = std::vector<std::byte>{part.begin(), part.end()};
    return portion_;
  }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t state_;
  std::size_t from_ = 0;
  std::vector<std::byte> portion_{};
};

/// @param bytes of an object. @param seed of their portions. @return the object. Throws.
template <class T>
[[nodiscard]] T decoded_in_portions(std::span<const std::byte> bytes, std::uint64_t seed) {
  T object{};
  Portions portions{bytes, seed};
  Decoder decoder{bytes.size(), portions};
  Codec<T>::decode(decoder, object);
  decoder.finish();
  return object;
}

}  // namespace tutti::samples
