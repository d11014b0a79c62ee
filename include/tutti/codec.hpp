/// @file
/// Objects as bytes: encoder, decoder, and the codecs of types.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tutti/error.hpp>
#include <tutti/export.hpp>
#include <tutti/flat.hpp>
#include <tutti/raise.hpp>
#include <tutti/spi/copy.hpp>

namespace tutti::v0 {

/// Most objects nested in each other, so that bytes cannot exhaust the stack.
inline constexpr int kDeepestObject = 32;

namespace detail {

/// The nesting of the object that is encoded or decoded.
class TUTTI_API Depth {
 public:
  void enter() {
    if (++depth_ > kDeepestObject)
      detail::raise({ErrorCode::object,
                     "objects are nested more than " + std::to_string(kDeepestObject) + " deep"});
  }
  void leave() noexcept { --depth_; }

 private:
  int depth_ = 0;
};

}  // namespace detail

/// Uninitialised memory.
struct RawBytes {
  std::unique_ptr<std::byte[]> data{};  ///< The first byte, or null.
  std::size_t bytes = 0;                ///< Its size.
};

/// Receiver of the progress of an object that is encoded while it is sent.
class TUTTI_API Outlet {
 public:
  Outlet() = default;
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;
  virtual ~Outlet() = default;
  /// @param bytes encoded so far. @return the larger number at which to call again. An exception
  /// passes through the object's Codec.
  virtual std::size_t encoded(std::size_t bytes) = 0;
};

/// The destination of encoded objects.
class Encoder : public detail::Depth {
 public:
  /// @param most bytes per object. @param memory to start with.
  /// @param kept bytes that are stored; more are only counted.
  explicit Encoder(std::size_t most, RawBytes memory = {},
                   std::size_t kept = ~std::size_t{0}) noexcept
      : memory_{std::move(memory)}, data_{memory_.data.get()}, most_{most}, kept_{kept} {}
  /// For one object whose bytes have been counted. @param to the destination, of exactly that many
  /// bytes.
  Encoder(std::span<std::byte> to, Outlet& outlet) noexcept
      : data_{to.data()}, most_{to.size()}, outlet_{&outlet} {}

  /// Appends bytes. Throws Error{object} if the object becomes too large.
  void write(const void* data, std::size_t bytes) {
    if (bytes > room_) return write_beyond(static_cast<const std::byte*>(data), bytes);
    append(data, bytes);
  }
  /// Appends an object of a flat type as its own bytes.
  template <Flat T>
  void put(const T& object) {
    write(&object, sizeof(T));
  }
  /// Appends a length. @param count such as elements; a Decoder accepts no more than there are
  /// bytes after it, see pad.
  void put_count(std::size_t count) { put(static_cast<std::uint64_t>(count)); }
  /// Appends a length and the bytes of the elements. @param count such as elements.
  void put_run(std::size_t count, const void* data, std::size_t bytes) {
    const auto length = static_cast<std::uint64_t>(count);
    if (bytes > room_ || sizeof length > room_ - bytes) {  // perhaps too many to add up
      if (is_counted_ && bytes < most_) return tally(sizeof length + bytes);
      put(length);
      return write(data, bytes);
    }
    std::byte* const to = data_ + size_;
    size_ += sizeof length + bytes;
    room_ -= sizeof length + bytes;
    std::memcpy(to, &length, sizeof length);
    if (bytes > 0) copy_bytes(to + sizeof length, data, bytes);
  }
  /// Appends zero bytes if elements took less than one byte each. @param begin size() before the
  /// first.
  void pad(std::size_t begin, std::size_t count) {
    constexpr std::byte kZero{};
    while (size_ - begin < count) write(&kZero, 1);
  }
  /// Starts another object, which may be as large as the first.
  void begin_object() noexcept {
    begin_ = size_;
    was_counted_ = is_counted_;
    find_room();
  }
  /// Removes the bytes of the latest object.
  void drop_object() noexcept {
    size_ = begin_;
    is_counted_ = was_counted_;
    find_room();
  }

  /// @return the bytes so far.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// @return whether bytes were only counted.
  [[nodiscard]] bool is_counted() const noexcept { return is_counted_; }
  /// @return the first byte. A Codec must not read or change what it has written: the bytes may
  /// have been counted only, or sent.
  [[nodiscard]] std::byte* data() noexcept { return data_; }
  /// Releases the memory for reuse, and ends the encoder.
  [[nodiscard]] RawBytes give_back() noexcept { return std::move(memory_); }
  /// @return the most bytes of an object.
  [[nodiscard]] std::size_t most() const noexcept { return most_; }

 private:
  void append(const void* data, std::size_t bytes) noexcept {
    if (bytes > 0) copy_bytes(data_ + size_, data, bytes);
    size_ += bytes;
    room_ -= bytes;
  }
  void write_beyond(const std::byte* data, std::size_t bytes) {
    if (is_counted_) return tally(bytes);
    if (outlet_ != nullptr) return write_through(data, bytes);
    if (bytes > kept_ - size_) {
      is_counted_ = true;
      room_ = 0;
      return tally(bytes);
    }
    grow(bytes);
    append(data, bytes);
  }
  void tally(std::size_t bytes) {
    if (bytes > most_ - (size_ - begin_)) reject();
    size_ += bytes;
  }
  [[noreturn]] void reject() const {
    detail::raise({ErrorCode::object, "it takes more than " + std::to_string(most_) +
                                          " bytes, the limit of "
                                          "ObjectOptions::most_bytes"});
  }
  void write_through(const std::byte* data, std::size_t bytes) {
    if (bytes > most_ - size_)
      detail::raise(
          {ErrorCode::object, "it takes more than the " + std::to_string(most_) +
                                  " bytes that were counted before; a Codec must write the "
                                  "same at every call"});
    while (bytes > 0) {
      if (room_ == 0) room_ = std::min(outlet_->encoded(size_), most_) - size_;
      const std::size_t part = std::min(bytes, room_);
      append(data, part);
      data += part;
      bytes -= part;
    }
  }
  void grow(std::size_t bytes) {
    const std::size_t used = size_ - begin_;
    if (bytes > most_ - used) reject();
    if (memory_.bytes - size_ < bytes) {
      const std::size_t larger = std::max({std::size_t{256}, memory_.bytes * 2, size_ + bytes});
      RawBytes memory{std::make_unique_for_overwrite<std::byte[]>(larger), larger};
      if (size_ > 0) copy_bytes(memory.data.get(), memory_.data.get(), size_);
      memory_ = std::move(memory);
      data_ = memory_.data.get();
    }
    find_room();
  }
  void find_room() noexcept {
    const std::size_t most = most_ - (size_ - begin_);
    room_ = is_counted_ ? 0 : std::min({memory_.bytes - size_, most, kept_ - size_});
  }

  RawBytes memory_{};
  std::byte* data_ = nullptr;  // in memory_, or the bytes of the caller
  std::size_t size_ = 0;
  std::size_t room_ = 0;  // bytes that fit without a question
  std::size_t begin_ = 0;
  std::size_t most_;
  std::size_t kept_ = 0;
  bool is_counted_ = false;
  bool was_counted_ = false;  // at begin_
  Outlet* outlet_ = nullptr;
};

/// The source of bytes of an object that is decoded while it arrives.
class TUTTI_API Arrivals {
 public:
  Arrivals() = default;
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;
  virtual ~Arrivals() = default;
  /// Waits for bytes, and releases those before them. @param from the first, not before that of the
  /// last call. @param bytes one or more.
  /// @return the bytes, and perhaps more, contiguous, until the next call. Throws the error that
  /// ends the communicator.
  virtual std::span<const std::byte> await(std::size_t from, std::size_t bytes) = 0;
};

/// The source of an encoded object. For any bytes, decoding ends with an object or an Error, and
/// takes memory in proportion to their number.
class TUTTI_API Decoder : public detail::Depth {
 public:
  /// @param bytes of one object, which must live.
  explicit Decoder(std::span<const std::byte> bytes) noexcept
      : there_{bytes}, left_{bytes.size()} {}
  Decoder(const Decoder&) = delete;  // a copy would wait for bytes that the other has taken
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() = default;
  /// @param bytes of one object. @param arrivals their source.
  Decoder(std::size_t bytes, Arrivals& arrivals) noexcept
      : left_{bytes}, total_{bytes}, arrivals_{&arrivals} {}

  /// @return the number of bytes that were not read yet.
  [[nodiscard]] std::size_t remaining() const noexcept { return left_; }
  /// Reads bytes in place. @return the bytes, until the next call. A peer may write there
  /// meanwhile, so check a copy. Throws Error{object} if fewer remain.
  const std::byte* pop(std::size_t bytes) {
    if (bytes > there_.size()) await(bytes);
    const std::byte* const data = there_.data();
    there_ = there_.subspan(bytes);
    left_ -= bytes;
    return data;
  }
  /// Reads the available bytes in place, so that a long read need not wait for all of them in one
  /// piece.
  /// @param most bytes, one or more. @return one or more, as pop. Throws as pop.
  [[nodiscard]] std::span<const std::byte> pop_some(std::size_t most) {
    if (there_.empty()) await(1);
    const std::size_t bytes = std::min(most, there_.size());
    return {pop(bytes), bytes};
  }
  /// Copies bytes. Throws as pop.
  void read(void* data, std::size_t bytes) {
    need(bytes);
    auto* to = static_cast<std::byte*>(data);
    while (bytes > 0) {
      const std::span<const std::byte> part = pop_some(bytes);
      copy_bytes(to, part.data(), part.size());
      to += part.size();
      bytes -= part.size();
    }
  }
  /// Throws Error{object} if fewer bytes remain.
  void need(std::size_t bytes) const {
    if (bytes > left_) fail("its bytes end in the middle of it");
  }
  /// Reads an object of a flat type. Throws as pop.
  template <Flat T>
  [[nodiscard]] T get() {
    T object;
    read(static_cast<void*>(&object), sizeof(T));
    return object;
  }
  /// Reads a length. @return it, at most the remaining bytes. Throws Error{object}.
  [[nodiscard]] std::size_t get_count() {
    const auto count = get<std::uint64_t>();
    if (count > left_) fail("it claims more elements than it has bytes");
    return static_cast<std::size_t>(count);
  }
  /// Skips the bytes of Encoder::pad. @param before remaining() at the first element.
  void skip_padding(std::size_t before, std::size_t count) {
    const std::size_t used = before - left_;
    if (used < count) static_cast<void>(pop(count - used));
  }
  /// Throws Error{object} if bytes remain.
  void finish() const {
    if (left_ > 0) fail("more bytes follow than belong to it");
  }

 private:
  [[noreturn]] static void fail(const char* why) { detail::raise({ErrorCode::object, why}); }
  void await(std::size_t bytes) {
    need(bytes);
    there_ = arrivals_->await(total_ - left_, bytes);
    there_ = there_.first(std::min(there_.size(), left_));
  }

  std::span<const std::byte> there_{};
  std::size_t left_;  // those that are there, and all to come
  std::size_t total_ = 0;
  Arrivals* arrivals_ = nullptr;
};

/// Encodes and decodes objects of type T. Specialise it for a type of your own: `static void
/// encode(Encoder&, const T&)` and `static void decode(Decoder&, T&)`, which may throw. They write
/// and read bytes from the first to the last. encode may run twice and must write the same bytes.
/// `<tutti/cereal.hpp>` has one for all types that cereal can serialise.
template <class T>
struct Codec;

/// A byte that is 0 or 1.
template <>
struct Codec<bool> {
  /// Encodes.
  static void encode(Encoder& to, bool object) { to.put(static_cast<std::uint8_t>(object)); }
  /// Decodes.
  static void decode(Decoder& from, bool& object) {
    const auto value = from.get<std::uint8_t>();
    if (value > 1) detail::raise({ErrorCode::object, "a bool in it is neither 0 nor 1"});
    object = value == 1;
  }
};

/// The number of an enumerator, which must be a value of the enumeration.
template <CheckedEnum E>
struct Codec<E> {
  /// Encodes.
  static void encode(Encoder& to, E object) {
    Codec<std::underlying_type_t<E>>::encode(to, static_cast<std::underlying_type_t<E>>(object));
  }
  /// Decodes.
  static void decode(Decoder& from, E& object) {
    std::underlying_type_t<E> value{};
    Codec<std::underlying_type_t<E>>::decode(from, value);
    if (!EnumValues<E>::contains(value))
      detail::raise(
          {ErrorCode::object, "an enumeration in it has a value that is not one of its names"});
    object = static_cast<E>(value);
  }
};

/// Whether Codec::decode replaces all of an earlier value, so that it may reuse the memory of an
/// object; otherwise it gets new ones.
template <class T>
inline constexpr bool decodes_over = detail::Copied<T> || CheckedEnum<T> || std::is_same_v<T, bool>;

/// A type whose objects can be sent between ranks.
template <class T>
concept Encodable = std::default_initializable<T> && std::movable<T> &&
    requires(Encoder& encoder, Decoder& decoder, const T& object, T& result) {
  Codec<T>::encode(encoder, object);
  Codec<T>::decode(decoder, result);
};

}  // namespace tutti::v0
