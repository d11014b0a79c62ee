/// @file
/// Objects as bytes: what they are written to and read from, and how a type says how.
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

/// How deep objects may lie in objects, so that bytes cannot exhaust the stack.
inline constexpr int kDeepestObject = 32;

namespace detail {

/// How deep the object lies that is encoded or decoded.
class TUTTI_API Depth {
 public:
  void enter() {
    if (++depth_ > kDeepestObject)
      detail::raise({ErrorCode::object, "objects lie in objects more than " +
                                            std::to_string(kDeepestObject) + " deep"});
  }
  void leave() noexcept { --depth_; }

 private:
  int depth_ = 0;
};

}  // namespace detail

/// Memory that is written before it is read.
struct RawBytes {
  std::unique_ptr<std::byte[]> data{};  ///< The first byte, or null.
  std::size_t bytes = 0;                ///< How many.
};

/// Is told how far an object has been encoded that is sent meanwhile.
class TUTTI_API Outlet {
 public:
  Outlet() = default;
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;
  virtual ~Outlet() = default;
  /// @param bytes that stand there. @return at how many it wants to be told again: more. What it
  /// throws goes through the object's Codec.
  virtual std::size_t encoded(std::size_t bytes) = 0;
};

/// Bytes that objects are encoded to.
class Encoder : public detail::Depth {
 public:
  /// @param most bytes per object. @param memory to begin with. @param kept bytes that are kept:
  /// where there are more, those behind them are only counted.
  explicit Encoder(std::size_t most, RawBytes memory = {},
                   std::size_t kept = ~std::size_t{0}) noexcept
      : memory_{std::move(memory)}, data_{memory_.data.get()}, most_{most}, kept_{kept} {}
  /// For one object whose bytes have been counted. @param to where they go, so many at most.
  /// @param outlet is told of them.
  Encoder(std::span<std::byte> to, Outlet& outlet) noexcept
      : data_{to.data()}, most_{to.size()}, outlet_{&outlet} {}

  /// Appends bytes. @param data the first. @param bytes how many. Throws Error{object} where the
  /// object has too many.
  void write(const void* data, std::size_t bytes) {
    if (bytes > room_) return write_beyond(static_cast<const std::byte*>(data), bytes);
    append(data, bytes);
  }
  /// Appends an object as its own bytes. @param object of a flat type.
  template <Flat T>
  void put(const T& object) {
    write(&object, sizeof(T));
  }
  /// Appends the length of what follows. @param count such as elements; a Decoder takes no more of
  /// them than there are bytes behind it, see pad.
  void put_count(std::size_t count) { put(static_cast<std::uint64_t>(count)); }
  /// Appends a length and what it is of. @param count such as elements. @param data the first.
  /// @param bytes how many.
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
  /// Appends zero bytes where elements took less than one each. @param begin size() before the
  /// first of them. @param count elements.
  void pad(std::size_t begin, std::size_t count) {
    constexpr std::byte kZero{};
    while (size_ - begin < count) write(&kZero, 1);
  }
  /// From here another object is encoded, which may be as large as the first.
  void begin_object() noexcept {
    begin_ = size_;
    was_counted_ = is_counted_;
    find_room();
  }
  /// Takes the bytes of the latest object back.
  void drop_object() noexcept {
    size_ = begin_;
    is_counted_ = was_counted_;
    find_room();
  }

  /// @return bytes so far.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// @return whether bytes were only counted.
  [[nodiscard]] bool is_counted() const noexcept { return is_counted_; }
  /// @return the first byte. No Codec may look at what it has written, or change it: that may have
  /// been counted only, or be on its way.
  [[nodiscard]] std::byte* data() noexcept { return data_; }
  /// Gives its memory to be used again. @return it. Nothing else may be done here afterwards.
  [[nodiscard]] RawBytes give_back() noexcept { return std::move(memory_); }
  /// @return what an object may have.
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
                                          " bytes, which is all that "
                                          "ObjectOptions::most_bytes allows"});
  }
  void write_through(const std::byte* data, std::size_t bytes) {
    if (bytes > most_ - size_)
      detail::raise(
          {ErrorCode::object, "it takes more than the " + std::to_string(most_) +
                                  " bytes that were counted before; a Codec must write the "
                                  "same whenever it is called"});
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
  std::byte* data_ = nullptr;  // of memory_, or what was given
  std::size_t size_ = 0;
  std::size_t room_ = 0;  // bytes that fit without a question
  std::size_t begin_ = 0;
  std::size_t most_;
  std::size_t kept_ = 0;
  bool is_counted_ = false;
  bool was_counted_ = false;  // at begin_
  Outlet* outlet_ = nullptr;
};

/// Brings the bytes of an object that is decoded while it arrives.
class TUTTI_API Arrivals {
 public:
  Arrivals() = default;
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;
  virtual ~Arrivals() = default;
  /// Waits for bytes. Those before them are not needed any more. @param from the first, not before
  /// that of the last call. @param bytes how many, one or more. @return they, and perhaps some
  /// behind them, in one piece, until the next call. Throws what ends the communicator.
  virtual std::span<const std::byte> await(std::size_t from, std::size_t bytes) = 0;
};

/// Bytes that an object is decoded from. They may come from anywhere: whatever they are, there is
/// an object or an Error, and memory is asked for in proportion to their number.
class TUTTI_API Decoder : public detail::Depth {
 public:
  /// @param bytes of one object, which stay where they are.
  explicit Decoder(std::span<const std::byte> bytes) noexcept
      : there_{bytes}, left_{bytes.size()} {}
  Decoder(const Decoder&) = delete;  // of two that read, one would wait for what is gone
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() = default;
  /// @param bytes of one object. @param arrivals brings them.
  Decoder(std::size_t bytes, Arrivals& arrivals) noexcept
      : left_{bytes}, total_{bytes}, arrivals_{&arrivals} {}

  /// @return bytes that were not read yet.
  [[nodiscard]] std::size_t remaining() const noexcept { return left_; }
  /// Reads bytes in place. @param bytes how many. @return them, until the next call. A peer may
  /// write there meanwhile, so what is checked is a copy. Throws Error{object} where there are
  /// less.
  const std::byte* take(std::size_t bytes) {
    if (bytes > there_.size()) await(bytes);
    const std::byte* const data = there_.data();
    there_ = there_.subspan(bytes);
    left_ -= bytes;
    return data;
  }
  /// Reads some bytes in place: as many as are there, which spares who wants many to wait for all
  /// of them in one piece. @param most bytes, one or more. @return one or more, as take. Throws as
  /// take does.
  [[nodiscard]] std::span<const std::byte> take_some(std::size_t most) {
    if (there_.empty()) await(1);
    const std::size_t bytes = std::min(most, there_.size());
    return {take(bytes), bytes};
  }
  /// Reads bytes. @param data where to. @param bytes how many. Throws as take does.
  void read(void* data, std::size_t bytes) {
    need(bytes);
    auto* to = static_cast<std::byte*>(data);
    while (bytes > 0) {
      const std::span<const std::byte> part = take_some(bytes);
      copy_bytes(to, part.data(), part.size());
      to += part.size();
      bytes -= part.size();
    }
  }
  /// Throws Error{object} where fewer bytes remain. @param bytes that what follows must have.
  void need(std::size_t bytes) const {
    if (bytes > left_) fail("its bytes end in the middle of it");
  }
  /// Reads an object that is its own bytes. @return it. Throws as take does.
  template <Flat T>
  [[nodiscard]] T get() {
    T object;
    read(static_cast<void*>(&object), sizeof(T));
    return object;
  }
  /// Reads the length of what follows. @return it, at most the bytes that remain. Throws
  /// Error{object}.
  [[nodiscard]] std::size_t get_count() {
    const auto count = get<std::uint64_t>();
    if (count > left_) fail("it claims more elements than it has bytes");
    return static_cast<std::size_t>(count);
  }
  /// Skips what Encoder::pad appended. @param before remaining() at the first element.
  /// @param count elements.
  void skip_padding(std::size_t before, std::size_t count) {
    const std::size_t used = before - left_;
    if (used < count) static_cast<void>(take(count - used));
  }
  /// Throws Error{object} where bytes are left.
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

/// How objects of a type become bytes and come back. Specialise it for a type of one's own:
/// `static void encode(Encoder&, const T&)` and `static void decode(Decoder&, T&)`, which may
/// throw. The bytes are written and read from the first to the last, and are the same whenever an
/// object is encoded, which may happen twice.
/// `<tutti/cereal.hpp>` does so for whatever cereal can serialise. @tparam T the type.
template <class T>
struct Codec;

/// A byte that is 0 or 1.
template <>
struct Codec<bool> {
  /// @param to where to. @param object what.
  static void encode(Encoder& to, bool object) { to.put(static_cast<std::uint8_t>(object)); }
  /// @param from where from. @param object what.
  static void decode(Decoder& from, bool& object) {
    const auto value = from.get<std::uint8_t>();
    if (value > 1) detail::raise({ErrorCode::object, "a bool in it is neither 0 nor 1"});
    object = value == 1;
  }
};

/// The number behind an enumerator, which must be one. @tparam E the enumeration.
template <CheckedEnum E>
struct Codec<E> {
  /// @param to where to. @param object what.
  static void encode(Encoder& to, E object) {
    Codec<std::underlying_type_t<E>>::encode(to, static_cast<std::underlying_type_t<E>>(object));
  }
  /// @param from where from. @param object what.
  static void decode(Decoder& from, E& object) {
    std::underlying_type_t<E> value{};
    Codec<std::underlying_type_t<E>>::decode(from, value);
    if (!EnumValues<E>::contains(value))
      detail::raise(
          {ErrorCode::object, "an enumeration in it has a value that none of its names has"});
    object = static_cast<E>(value);
  }
};

/// Whether Codec::decode leaves nothing of what an object was before, so that it may be given one
/// whose memory is used again; else it is given new ones. @tparam T the type.
template <class T>
inline constexpr bool decodes_over = detail::Copied<T> || CheckedEnum<T> || std::is_same_v<T, bool>;

/// A type whose objects can be moved between ranks.
template <class T>
concept Encodable = std::default_initializable<T> && std::movable<T> &&
    requires(Encoder& encoder, Decoder& decoder, const T& object, T& result) {
  Codec<T>::encode(encoder, object);
  Codec<T>::decode(decoder, result);
};

}  // namespace tutti::v0
