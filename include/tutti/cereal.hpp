/// @file
/// Objects of whatever type cereal can serialise: the standard containers, and types with functions
/// as cereal's manual describes them. Needs cereal's headers, version 1.3. What is read are bytes
/// of other ranks: the archives here take nothing for granted that cereal's own do.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <cereal/cereal.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/common.hpp>
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

#include <tutti/codec.hpp>

namespace tutti {

/// The archive that objects are saved to. @see Encoder
class ObjectWriter : public cereal::OutputArchive<ObjectWriter, cereal::AllowEmptyClassElision> {
 public:
  /// @param to where the bytes go.
  explicit ObjectWriter(Encoder& to)
      : cereal::OutputArchive<ObjectWriter, cereal::AllowEmptyClassElision>{this}, to_{to} {}
  /// @return where the bytes go.
  [[nodiscard]] Encoder& bytes() noexcept { return to_; }

 private:
  Encoder& to_;
};

/// The archive that objects are loaded from. @see Decoder
class ObjectReader : public cereal::InputArchive<ObjectReader, cereal::AllowEmptyClassElision> {
 public:
  /// @param from where the bytes come from.
  explicit ObjectReader(Decoder& from)
      : cereal::InputArchive<ObjectReader, cereal::AllowEmptyClassElision>{this}, from_{from} {}
  /// @return where the bytes come from.
  [[nodiscard]] Decoder& bytes() noexcept { return from_; }

 private:
  Decoder& from_;
};

/// @cond functions that cereal finds by their arguments
namespace detail {

/// What cereal wraps parts of objects in.
template <class T>
inline constexpr bool is_wrapper = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <class T>
inline constexpr bool is_wrapper<cereal::NameValuePair<T>> = true;
template <class T>
inline constexpr bool is_wrapper<cereal::SizeTag<T>> = true;
template <class T>
inline constexpr bool is_wrapper<cereal::BinaryData<T>> = true;
template <class Key, class Value>
inline constexpr bool is_wrapper<cereal::MapItem<Key, Value>> = true;
template <class T>
inline constexpr bool is_wrapper<cereal::memory_detail::PtrWrapper<T>> = true;
template <class T, class Deleter>
inline constexpr bool is_wrapper<std::unique_ptr<T, Deleter>> = true;

/// A type with a meaning of its own, not a wrapper around one.
template <class T>
concept WholeObject = !is_wrapper<std::remove_cvref_t<T>>;

/// Elements that are copied as one run of bytes.
template <class T>
concept BulkElement = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

}  // namespace detail

template <detail::WholeObject T>
void prologue(ObjectWriter& archive, const T&) {
  archive.bytes().enter();
}
template <detail::WholeObject T>
void epilogue(ObjectWriter& archive, const T&) {
  archive.bytes().leave();
}
template <detail::WholeObject T>
void prologue(ObjectReader& archive, const T&) {
  archive.bytes().enter();
}
template <detail::WholeObject T>
void epilogue(ObjectReader& archive, const T&) {
  archive.bytes().leave();
}

template <class T>
requires std::is_arithmetic_v<T>
void save(ObjectWriter& archive, const T& number) {
  Codec<T>::encode(archive.bytes(), number);
}
template <class T>
requires std::is_arithmetic_v<T>
void load(ObjectReader& archive, T& number) {
  Codec<T>::decode(archive.bytes(), number);
}

template <class E>
requires std::is_enum_v<E>
void save(ObjectWriter& archive, const E& value) {
  static_assert(CheckedEnum<E> || detail::OpenEnum<E>,
                "tutti cannot check what other ranks send for this enumeration: give it an "
                "underlying type, or specialise tutti::EnumValues");
  Codec<E>::encode(archive.bytes(), value);
}
template <class E>
requires std::is_enum_v<E>
void load(ObjectReader& archive, E& value) {
  Codec<E>::decode(archive.bytes(), value);
}

template <class T>
void save(ObjectWriter& archive, const cereal::NameValuePair<T>& pair) {
  archive(pair.value);
}
template <class T>
void load(ObjectReader& archive, cereal::NameValuePair<T>& pair) {
  archive(pair.value);
}

template <class T>
void save(ObjectWriter& archive, const cereal::SizeTag<T>& tag) {
  archive.bytes().put_count(static_cast<std::size_t>(tag.size));
}
template <class T>
void load(ObjectReader& archive, cereal::SizeTag<T>& tag) {
  tag.size = static_cast<std::remove_reference_t<decltype(tag.size)>>(archive.bytes().get_count());
}

template <class T>
void save(ObjectWriter& archive, const cereal::BinaryData<T>& data) {
  archive.bytes().write(data.data, static_cast<std::size_t>(data.size));
}
template <class T>
void load(ObjectReader& archive, cereal::BinaryData<T>& data) {
  archive.bytes().read(data.data, static_cast<std::size_t>(data.size));
}

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
  if constexpr (detail::BulkElement<T>) archive.bytes().write(array.data(), sizeof(array));
  else
    for (const T& element : array) archive(element);
}
template <class T, std::size_t count>
void load(ObjectReader& archive, std::array<T, count>& array) {
  if constexpr (detail::BulkElement<T>) archive.bytes().read(array.data(), sizeof(array));
  else
    for (T& element : array) archive(element);
}

template <class Letter, class Traits, class Allocator>
void save(ObjectWriter& archive, const std::basic_string<Letter, Traits, Allocator>& text) {
  archive.bytes().put_count(text.size());
  archive.bytes().write(text.data(), text.size() * sizeof(Letter));
}
template <class Letter, class Traits, class Allocator>
void load(ObjectReader& archive, std::basic_string<Letter, Traits, Allocator>& text) {
  const std::size_t count = archive.bytes().get_count();
  const std::byte* const letters = archive.bytes().take(count * sizeof(Letter));
  if constexpr (sizeof(Letter) == 1) {
    text.assign(reinterpret_cast<const Letter*>(letters), count);
  } else {
    text.resize(count);
    if (count > 0) std::memcpy(text.data(), letters, count * sizeof(Letter));
  }
}

template <class T, class Allocator>
void save(ObjectWriter& archive, const std::vector<T, Allocator>& vector) {
  if constexpr (detail::BulkElement<T>) {
    archive.bytes().put_count(vector.size());
    archive.bytes().write(vector.data(), vector.size() * sizeof(T));
  } else {
    detail::save_elements(archive, vector);
  }
}
template <class T, class Allocator>
void load(ObjectReader& archive, std::vector<T, Allocator>& vector) {
  if constexpr (detail::BulkElement<T>) {
    const std::size_t count = archive.bytes().get_count();
    const std::byte* const elements = archive.bytes().take(count * sizeof(T));
    vector.resize(count);
    if (count > 0) std::memcpy(vector.data(), elements, count * sizeof(T));
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
constexpr void refuse_shared() noexcept {
  static_assert(
      sizeof(T) == 0,
      "tutti moves no shared_ptr and no weak_ptr: what they share would be many objects on "
      "another rank, and its bytes could name any object; hold the value, or a unique_ptr");
}
template <class T>
constexpr void refuse_polymorphic() noexcept {
  static_assert(
      !std::is_polymorphic_v<T>,
      "tutti moves no pointers to polymorphic objects: bytes of another rank would decide "
      "which code runs; use a std::variant");
}
}  // namespace detail

template <class T>
void save(ObjectWriter&, const std::shared_ptr<T>&) {
  detail::refuse_shared<T>();
}
template <class T>
void load(ObjectReader&, std::shared_ptr<T>&) {
  detail::refuse_shared<T>();
}
template <class T>
void save(ObjectWriter&, const std::weak_ptr<T>&) {
  detail::refuse_shared<T>();
}
template <class T>
void load(ObjectReader&, std::weak_ptr<T>&) {
  detail::refuse_shared<T>();
}
template <class T, class Deleter>
void save(ObjectWriter& archive, const std::unique_ptr<T, Deleter>& pointer) {
  detail::refuse_polymorphic<T>();
  archive(pointer != nullptr);
  if (pointer != nullptr) archive(*pointer);
}
template <class T, class Deleter>
void load(ObjectReader& archive, std::unique_ptr<T, Deleter>& pointer) {
  detail::refuse_polymorphic<T>();
  bool is_there = false;
  archive(is_there);
  pointer.reset();
  if (!is_there) return;
  pointer.reset(new T());
  archive(*pointer);
}
/// @endcond

/// Whatever cereal can serialise and no other Codec is for. @tparam T the type.
template <class T>
requires(!Flat<T> && !std::is_pointer_v<T> && !CheckedEnum<T> && !std::is_same_v<T, bool> &&
         cereal::traits::is_output_serializable<T, ObjectWriter>::value &&
         cereal::traits::is_input_serializable<T, ObjectReader>::value) struct Codec<T> {
  /// @param to where to. @param object what.
  static void encode(Encoder& to, const T& object) {
    ObjectWriter archive{to};
    archive(object);
  }
  /// @param from where from. @param object what.
  static void decode(Decoder& from, T& object) {
    ObjectReader archive{from};
    archive(object);
  }
};

}  // namespace tutti

/// @cond what cereal is told about the archives
namespace cereal {

/// Common headers of cereal have functions for enumerations that check nothing.
template <class E>
requires std::is_enum_v<E>
struct specialize<tutti::ObjectWriter, E, specialization::non_member_load_save> : std::true_type {
};
template <class E>
requires std::is_enum_v<E>
struct specialize<tutti::ObjectReader, E, specialization::non_member_load_save> : std::true_type {
};

namespace traits::detail {
/// Types with save_minimal and load_minimal ask which archive belongs to which.
template <>
struct get_output_from_input<tutti::ObjectReader> {
  using type = tutti::ObjectWriter;
};
template <>
struct get_input_from_output<tutti::ObjectWriter> {
  using type = tutti::ObjectReader;
};
}  // namespace traits::detail
}  // namespace cereal
/// @endcond
