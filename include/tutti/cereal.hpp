/// @file
/// Objects of types that cereal can serialise: the standard containers, and types with functions as
/// cereal's manual describes them. Needs cereal's headers, version 1.3. The archives here check the
/// bytes of other ranks, which cereal's own archives trust.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <cereal/types/array.hpp>
#include <cereal/types/deque.hpp>
#include <cereal/types/list.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/set.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/tuple.hpp>
#include <cereal/types/unordered_map.hpp>
#include <cereal/types/unordered_set.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/variant.hpp>
#include <cereal/types/vector.hpp>

#include <tutti/cereal_archives.hpp>

namespace tutti::v0 {

/// @cond functions that cereal finds by their arguments
namespace detail {

/// Sequences whose memory cereal's own functions allocate before they have seen an element.
template <class Sequence>
void save_elements(ObjectWriter& archive, const Sequence& sequence) {
  Encoder& bytes = archive.bytes();
  bytes.put_count(sequence.size());
  const std::size_t begin = bytes.size();
  for (const auto& element : sequence) archive(element);
  bytes.pad(begin, sequence.size());
}
template <class Sequence>
void load_elements(ObjectReader& archive, Sequence& sequence) {
  Decoder& bytes = archive.bytes();
  const std::size_t count = bytes.get_count();
  const std::size_t before = bytes.remaining();
  sequence.clear();
  for (std::size_t i = 0; i < count; ++i) {
    sequence.emplace_back();
    archive(sequence.back());
  }
  bytes.skip_padding(before, count);
}

}  // namespace detail

template <class T, std::size_t count>
void serialize(ObjectWriter& archive, T (&array)[count]) {
  for (T& element : array) archive(element);
}
template <class T, std::size_t count>
void serialize(ObjectReader& archive, T (&array)[count]) {
  for (T& element : array) archive(element);
}

template <class T, std::size_t count>
void save(ObjectWriter& archive, const std::array<T, count>& array) {
  // An array of none has a size, but no data.
  if constexpr (detail::BulkElement<T>) archive.bytes().write(&array, sizeof(array));
  else
    for (const T& element : array) archive(element);
}
template <class T, std::size_t count>
void load(ObjectReader& archive, std::array<T, count>& array) {
  if constexpr (detail::BulkElement<T>)
    archive.bytes().read(static_cast<void*>(&array), sizeof(array));
  else
    for (T& element : array) archive(element);
}

template <class Letter, class Traits, class Allocator>
void save(ObjectWriter& archive, const std::basic_string<Letter, Traits, Allocator>& text) {
  archive.bytes().put_run(text.size(), text.data(), text.size() * sizeof(Letter));
}
template <class Letter, class Traits, class Allocator>
void load(ObjectReader& archive, std::basic_string<Letter, Traits, Allocator>& text) {
  Decoder& bytes = archive.bytes();
  const std::size_t count = bytes.get_count();
  bytes.need(count * sizeof(Letter));
  if constexpr (sizeof(Letter) == 1) {
    text.clear();
    text.reserve(count);
    while (text.size() < count) {
      const std::span<const std::byte> some = bytes.pop_some(count - text.size());
      text.append(reinterpret_cast<const Letter*>(some.data()), some.size());
    }
  } else {
    text.resize(count);
    bytes.read(text.data(), count * sizeof(Letter));
  }
}

template <class T, class Allocator>
void save(ObjectWriter& archive, const std::vector<T, Allocator>& vector) {
  if constexpr (detail::BulkElement<T>) {
    archive.bytes().put_run(vector.size(), vector.data(), vector.size() * sizeof(T));
  } else {
    detail::save_elements(archive, vector);
  }
}
template <class T, class Allocator>
void load(ObjectReader& archive, std::vector<T, Allocator>& vector) {
  if constexpr (detail::BulkElement<T>) {
    const std::size_t count = archive.bytes().get_count();
    archive.bytes().need(count * sizeof(T));
    vector.resize(count);
    archive.bytes().read(vector.data(), count * sizeof(T));
  } else {
    detail::load_elements(archive, vector);
  }
}

template <class Allocator>
void save(ObjectWriter& archive, const std::vector<bool, Allocator>& vector) {
  archive.bytes().put_count(vector.size());
  for (const bool value : vector) archive(value);
}
template <class Allocator>
void load(ObjectReader& archive, std::vector<bool, Allocator>& vector) {
  vector.resize(archive.bytes().get_count());
  for (std::size_t i = 0; i < vector.size(); ++i) {
    bool value = false;
    archive(value);
    vector[i] = value;
  }
}

template <class T, class Allocator>
void save(ObjectWriter& archive, const std::deque<T, Allocator>& deque) {
  detail::save_elements(archive, deque);
}
template <class T, class Allocator>
void load(ObjectReader& archive, std::deque<T, Allocator>& deque) {
  detail::load_elements(archive, deque);
}
template <class T, class Allocator>
void save(ObjectWriter& archive, const std::list<T, Allocator>& list) {
  detail::save_elements(archive, list);
}
template <class T, class Allocator>
void load(ObjectReader& archive, std::list<T, Allocator>& list) {
  detail::load_elements(archive, list);
}

namespace detail {
template <class T>
constexpr void reject_shared() noexcept {
  static_assert(
      sizeof(T) == 0,
      "tutti does not send shared_ptr or weak_ptr: a shared object would become many on "
      "another rank, and its bytes could name any object; hold the value, or a unique_ptr");
}
template <class T>
constexpr void reject_polymorphic() noexcept {
  static_assert(
      !std::is_polymorphic_v<T>,
      "tutti does not send pointers to polymorphic objects: bytes of another rank would decide "
      "which code runs; use a std::variant");
}
}  // namespace detail

namespace detail {
/// The alternative of an index, or of one above it.
template <std::size_t index, class Variant>
void load_alternative(ObjectReader& archive, std::size_t wanted, Variant& variant) {
  if constexpr (index == std::variant_size_v<Variant>)
    raise({ErrorCode::object, "a variant in it has an alternative that does not exist"});
  else if (wanted == index) archive(variant.template emplace<index>());
  else load_alternative<index + 1>(archive, wanted, variant);
}
}  // namespace detail

template <class... Types>
void load(ObjectReader& archive, std::variant<Types...>& variant) {
  std::int32_t index = 0;
  archive(index);
  detail::load_alternative<0>(archive, static_cast<std::size_t>(index), variant);
}

template <class T>
void save(ObjectWriter&, const std::shared_ptr<T>&) {
  detail::reject_shared<T>();
}
template <class T>
void load(ObjectReader&, std::shared_ptr<T>&) {
  detail::reject_shared<T>();
}
template <class T>
void save(ObjectWriter&, const std::weak_ptr<T>&) {
  detail::reject_shared<T>();
}
template <class T>
void load(ObjectReader&, std::weak_ptr<T>&) {
  detail::reject_shared<T>();
}
template <class T, class Deleter>
void save(ObjectWriter& archive, const std::unique_ptr<T, Deleter>& pointer) {
  detail::reject_polymorphic<T>();
  archive(pointer != nullptr);
  if (pointer != nullptr) archive(*pointer);
}
template <class T, class Deleter>
void load(ObjectReader& archive, std::unique_ptr<T, Deleter>& pointer) {
  detail::reject_polymorphic<T>();
  bool is_there = false;
  archive(is_there);
  pointer.reset();
  if (!is_there) return;
  pointer.reset(new T());
  archive(*pointer);
}
/// @endcond

/// @cond types whose functions above overwrite earlier values
template <class Letter, class Traits, class Allocator>
inline constexpr bool decodes_over<std::basic_string<Letter, Traits, Allocator>> = true;
template <class T, class Allocator>
inline constexpr bool decodes_over<std::vector<T, Allocator>> = true;
template <class T, class Allocator>
inline constexpr bool decodes_over<std::deque<T, Allocator>> = true;
template <class T, class Allocator>
inline constexpr bool decodes_over<std::list<T, Allocator>> = true;
template <class Key, class Value, class Less, class Allocator>
inline constexpr bool decodes_over<std::map<Key, Value, Less, Allocator>> = true;

/// Refills existing nodes, if no part of an earlier value can remain in them.
template <class Key, class Value, class Less, class Allocator>
void load(ObjectReader& archive, std::map<Key, Value, Less, Allocator>& map) {
  const std::size_t count = archive.bytes().get_count();
  std::map<Key, Value, Less, Allocator> old = std::move(map);
  map.clear();
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (decodes_over<Key> && decodes_over<Value>) {
      if (!old.empty()) {
        auto node = old.extract(old.begin());
        archive(cereal::make_map_item(node.key(), node.mapped()));
        map.insert(map.end(), std::move(node));
        continue;
      }
    }
    Key key{};
    Value value{};
    archive(cereal::make_map_item(key, value));
    map.emplace_hint(map.end(), std::move(key), std::move(value));
  }
}
/// @endcond

/// Types that cereal can serialise and that have no other Codec.
template <class T>
requires(!Flat<T> && !std::is_pointer_v<T> && !CheckedEnum<T> && !std::is_same_v<T, bool> &&
         cereal::traits::is_output_serializable<T, ObjectWriter>::value &&
         cereal::traits::is_input_serializable<T, ObjectReader>::value) struct Codec<T> {
  /// Encodes.
  static void encode(Encoder& to, const T& object) {
    ObjectWriter archive{to};
    archive(object);
  }
  /// Decodes.
  static void decode(Decoder& from, T& object) {
    ObjectReader archive{from};
    archive(object);
  }
};

}  // namespace tutti::v0
