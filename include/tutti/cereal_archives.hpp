/// @file
/// The archives of `<tutti/cereal.hpp>`, and their treatment of the smallest parts of objects.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

#include <cereal/cereal.hpp>
#include <cereal/types/common.hpp>

#include <tutti/codec.hpp>
#include <tutti/export.hpp>

namespace tutti::v0 {

/// The archive that objects are saved to. @see Encoder
class TUTTI_API ObjectWriter
    : public cereal::OutputArchive<ObjectWriter, cereal::AllowEmptyClassElision> {
 public:
  /// @param to the destination of the bytes.
  explicit ObjectWriter(Encoder& to)
      : cereal::OutputArchive<ObjectWriter, cereal::AllowEmptyClassElision>{this}, to_{to} {}
  /// @return the destination of the bytes.
  [[nodiscard]] Encoder& bytes() noexcept { return to_; }

 private:
  Encoder& to_;
};

/// The archive that objects are loaded from. @see Decoder
class TUTTI_API ObjectReader
    : public cereal::InputArchive<ObjectReader, cereal::AllowEmptyClassElision> {
 public:
  /// @param from the source of the bytes.
  explicit ObjectReader(Decoder& from)
      : cereal::InputArchive<ObjectReader, cereal::AllowEmptyClassElision>{this}, from_{from} {}
  /// @return the source of the bytes.
  [[nodiscard]] Decoder& bytes() noexcept { return from_; }

 private:
  Decoder& from_;
};

/// @cond functions that cereal finds by their arguments
namespace detail {

/// Cereal's wrappers of parts, and the smallest parts, which contain no object.
template <class T>
inline constexpr bool is_wrapper = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <class Letter, class Traits, class Allocator>
inline constexpr bool is_wrapper<std::basic_string<Letter, Traits, Allocator>> = true;
template <class T>
inline constexpr bool is_wrapper<cereal::NameValuePair<T>> = true;
template <class T>
inline constexpr bool is_wrapper<cereal::SizeTag<T>> = true;
template <class T>
inline constexpr bool is_wrapper<cereal::BinaryData<T>> = true;
template <class Key, class Value>
inline constexpr bool is_wrapper<cereal::MapItem<Key, Value>> = true;
template <class T, class Deleter>
inline constexpr bool is_wrapper<std::unique_ptr<T, Deleter>> = true;

/// A type with a meaning of its own, not a wrapper.
template <class T>
concept WholeObject = !is_wrapper<std::remove_cvref_t<T>>;

template <class T>
inline constexpr bool is_array = false;
template <class T, std::size_t count>
inline constexpr bool is_array<std::array<T, count>> = true;

/// A class whose objects are copied as bytes, in other objects too. If is_flat was specialised for
/// it, its functions for cereal are not called. Arrays have functions of their own.
template <class T>
concept FlatClass =
    std::is_class_v<T> && std::is_trivially_copyable_v<T> && !is_array<T> && Flat<T>;

/// An enumeration that has no functions for cereal, or whose values are checked instead.
template <class E>
concept PlainEnum = std::is_enum_v<E> &&(CheckedEnum<E> || !HasCerealFunctions<E>);

/// Elements that are copied as one run of bytes.
template <class T>
concept BulkElement = Copied<T>;

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

// Their archive is a parameter that is looked at first: others ask, too, whether a type has
// functions.
template <std::same_as<ObjectWriter> Archive, detail::FlatClass T>
void save(Archive& archive, const T& object) {
  Codec<T>::encode(archive.bytes(), object);
}
template <std::same_as<ObjectReader> Archive, detail::FlatClass T>
void load(Archive& archive, T& object) {
  Codec<T>::decode(archive.bytes(), object);
}

template <std::same_as<ObjectWriter> Archive, detail::PlainEnum E>
void save(Archive& archive, const E& value) {
  static_assert(CheckedEnum<E> || detail::OpenEnum<E>,
                "tutti cannot check received values of this enumeration: give it an "
                "underlying type, or specialise tutti::EnumValues");
  Codec<E>::encode(archive.bytes(), value);
}
template <std::same_as<ObjectReader> Archive, detail::PlainEnum E>
void load(Archive& archive, E& value) {
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
/// @endcond

}  // namespace tutti::v0

/// @cond declarations for cereal about the archives
namespace cereal {

/// Common headers of cereal have functions for enumerations that check nothing.
template <tutti::detail::PlainEnum E>
struct specialize<tutti::ObjectWriter, E, specialization::non_member_load_save> : std::true_type {};
template <tutti::detail::PlainEnum E>
struct specialize<tutti::ObjectReader, E, specialization::non_member_load_save> : std::true_type {};

/// Flat classes may have functions for cereal too.
template <tutti::detail::FlatClass T>
struct specialize<tutti::ObjectWriter, T, specialization::non_member_load_save> : std::true_type {};
template <tutti::detail::FlatClass T>
struct specialize<tutti::ObjectReader, T, specialization::non_member_load_save> : std::true_type {};

namespace traits::detail {
/// Types with save_minimal and load_minimal look up the archive that belongs to another.
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
