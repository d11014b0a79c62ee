/// @file
/// Feeds the decoder of objects with any bytes: for the fuzzer and for its seeds' replay.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "tests/objects/portions.hpp"
#include "tests/objects/samples.hpp"

namespace tutti::fuzz {

/// @param object any. @return its bytes.
template <class T>
[[nodiscard]] Encoder encoded(const T& object) {
  Encoder encoder{std::size_t{1} << 24};
  encoder.begin_object();
  Codec<T>::encode(encoder, object);
  return encoder;
}
/// @param bytes of an object. @return it. Throws.
template <class T>
[[nodiscard]] T decoded(std::span<const std::byte> bytes) {
  T object{};
  Decoder decoder{bytes};
  Codec<T>::decode(decoder, object);
  decoder.finish();
  return object;
}

/// @param decode throws, or not. @return what it decodes, or nothing.
template <class Decode>
[[nodiscard]] auto attempt(Decode decode) -> std::optional<decltype(decode())> {
  try {
    return decode();
  } catch (const std::bad_alloc&) {
    std::abort();
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

/// All bytes, in any pieces, give an exception or an object. An object is equal after a round trip
/// through its own bytes.
template <class T>
void run_object_of(std::span<const std::byte> bytes) {
  auto whole = attempt([&] { return decoded<T>(bytes); });
  const auto parts =
      attempt([&] { return samples::decoded_in_portions<T>(bytes, bytes.size() * 31); });
  if (whole.has_value() != parts.has_value()) std::abort();
  if (!whole) return;
  T object = std::move(*whole);
  Encoder once = encoded(object);
  const T again = decoded<T>({once.data(), once.size()});
  Encoder twice = encoded(again);
  Encoder other = encoded(*parts);
  if (once.size() != twice.size() || once.size() != other.size()) std::abort();
  if constexpr (decodes_over<T>) {  // Nothing stays of what was there.
    Decoder decoder{{once.data(), once.size()}};
    Codec<T>::decode(decoder, object);
    Encoder over = encoded(object);
    if (over.size() != once.size() || std::memcmp(over.data(), once.data(), once.size()) != 0)
      std::abort();
  }
}

using Run = void (*)(std::span<const std::byte>);

/// Every type that is decoded.
inline constexpr Run kRuns[] = {
    &run_object_of<std::map<std::string, std::string>>,
    &run_object_of<samples::Person>,
    &run_object_of<std::vector<std::vector<std::uint32_t>>>,
    &run_object_of<std::optional<std::variant<bool, std::string, std::list<std::uint16_t>>>>,
    &run_object_of<std::deque<std::list<std::vector<bool>>>>,
    &run_object_of<std::unordered_map<std::int32_t, std::set<std::string>>>,
    &run_object_of<samples::Point>,
    &run_object_of<std::vector<samples::Color>>,
    &run_object_of<samples::Tree>,
    &run_object_of<samples::Link>,
    &run_object_of<std::vector<samples::Nothing>>,
    &run_object_of<std::pair<std::array<bool, 4>, std::u16string>>,
};

/// The first byte says of which type an object is decoded from the rest.
inline void run_object(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return;
  kRuns[bytes.front() % std::size(kRuns)](std::as_bytes(bytes.subspan(1)));
}

}  // namespace tutti::fuzz
