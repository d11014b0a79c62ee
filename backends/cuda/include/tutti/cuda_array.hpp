/// @file
/// Arrays in memory of a GPU that are objects, or parts of objects, for objects(world).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <tutti/byte_count.hpp>
#include <tutti/codec.hpp>
#include <tutti/export.hpp>
#include <tutti/flat.hpp>
#include <tutti/raise.hpp>

namespace tutti::v0::cuda {
namespace detail {

struct Allocation;  // of the driver

/// Bytes in memory of a GPU. They are sent through memory of the host, in pieces.
class TUTTI_API DeviceBytes {
 public:
  DeviceBytes() = default;
  explicit DeviceBytes(std::size_t bytes);
  [[nodiscard]] std::byte* data() const noexcept;
  /// @param bytes to encode, from the first.
  void encode(Encoder& to, std::size_t bytes) const;
  void decode(Decoder& from, std::size_t bytes);

 private:
  std::shared_ptr<Allocation> allocation_{};
};

}  // namespace detail

/// Elements in memory of a GPU, which it owns. The host cannot touch them. As an object, alone or
/// in a type with a Codec, it is sent with its number of elements, through memory of the host, to
/// the current GPU of the decoding thread. A Codec reads and writes the elements after earlier work
/// on the default stream of that GPU; work on other streams must be done before. If sizes are known
/// beforehand, calls on streams send arrays without the host. Not while the thread captures a
/// graph.
///
/// Each array looks the driver up by itself, so prefer few large ones to many small ones. The
/// destructor waits for the work of its GPU, as cudaFree does. If ranks are threads of one process,
/// this must not be work that waits for a rank that continues only afterwards.
/// @tparam T a flat type.
template <Flat T>
class Array {
 public:
  /// No elements.
  Array() = default;
  /// @param count of elements, uninitialised, on the calling thread's current GPU or, without one,
  /// the only GPU of the process. Throws std::bad_alloc, Error{transport} if there is no driver or
  /// no GPU, Error{invalid_argument} if there are several GPUs and none is current.
  explicit Array(std::size_t count) : bytes_{bytes_of(count)}, count_{count} {}
  /// Moves the elements; the other array has none afterwards.
  Array(Array&& other) noexcept
      : bytes_{std::move(other.bytes_)}, count_{std::exchange(other.count_, 0)} {}
  /// Frees the own elements, and moves those of the other array, which has none afterwards.
  Array& operator=(Array&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    count_ = std::exchange(other.count_, 0);
    return *this;
  }
  ~Array() = default;

  /// @return the first element; null if there are none.
  [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(bytes_.data()); }
  /// @return the number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// @return the elements, as an argument of calls on streams.
  [[nodiscard]] std::span<T> span() const noexcept { return {data(), count_}; }

 private:
  friend struct Codec<Array>;

  static std::size_t bytes_of(std::size_t count) {
    const std::optional<std::size_t> bytes = tutti::detail::byte_count(count, sizeof(T));
    if (!bytes) tutti::detail::raise_bad_length();
    return *bytes;
  }

  detail::DeviceBytes bytes_{};
  std::size_t count_ = 0;
};

}  // namespace tutti::v0::cuda

namespace tutti::v0 {

/// The number of elements and their bytes.
template <class T>
struct Codec<cuda::Array<T>> {
  /// Encodes. Throws Error{object, transport}.
  static void encode(Encoder& to, const cuda::Array<T>& array) {
    to.put_count(array.size());
    array.bytes_.encode(to, array.size() * sizeof(T));
  }
  /// Decodes. Throws as encode, and as the constructor.
  static void decode(Decoder& from, cuda::Array<T>& array) {
    const std::size_t count = from.get_count();
    if (count > from.remaining() / sizeof(T))
      detail::raise({ErrorCode::object, "it claims more elements than it has bytes"});
    array = cuda::Array<T>{count};
    array.bytes_.decode(from, count * sizeof(T));
  }
};

}  // namespace tutti::v0
