/// @file
/// Arrays in memory of a GPU that are objects, or lie in objects: objects(world) moves them.
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

/// Bytes in memory of a GPU. They are moved through memory of the host, in pieces.
class TUTTI_API DeviceBytes {
 public:
  DeviceBytes() = default;
  explicit DeviceBytes(std::size_t bytes);
  [[nodiscard]] std::byte* data() const noexcept;
  /// @param to gets bytes. @param bytes of them, from the first.
  void encode(Encoder& to, std::size_t bytes) const;
  /// @param from gives bytes. @param bytes to the first and those behind it.
  void decode(Decoder& from, std::size_t bytes);

 private:
  std::shared_ptr<Allocation> allocation_{};
};

}  // namespace detail

/// Elements in memory of a GPU, which it owns. The host cannot touch them. As an object, alone or
/// as a member of a type with a Codec, it is moved with its number of elements: they go through
/// memory of the host, and arrive on the current GPU of the rank that decodes them. A Codec reads
/// and writes them after what was enqueued on the default stream of that GPU; what another stream
/// does with them has to be done before. Where sizes are known beforehand, calls on streams move
/// arrays without the host. Not while the thread captures a graph. Each array looks the driver up
/// by itself, so few large ones are better than many small ones. Its end waits for what its GPU
/// does, as cudaFree: where ranks are threads of one process, not while that waits for a rank that
/// only goes on after it.
/// @tparam T a flat type.
template <Flat T>
class Array {
 public:
  /// No elements.
  Array() = default;
  /// @param count of elements, unset, on the calling thread's current GPU or else the only one that
  /// the process sees. Throws std::bad_alloc, Error{transport} where there is no driver or no GPU,
  /// Error{invalid_argument} where there are several GPUs and none is current.
  explicit Array(std::size_t count) : bytes_{bytes_of(count)}, count_{count} {}
  Array(Array&& other) noexcept
      : bytes_{std::move(other.bytes_)}, count_{std::exchange(other.count_, 0)} {}
  Array& operator=(Array&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    count_ = std::exchange(other.count_, 0);
    return *this;
  }
  ~Array() = default;

  /// @return the first element, or null.
  [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(bytes_.data()); }
  /// @return how many elements.
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// @return them, as calls on streams take them.
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

/// The number of elements and their bytes. @tparam T a flat type.
template <class T>
struct Codec<cuda::Array<T>> {
  /// @param to where to. @param array what. Throws Error{object, transport}.
  static void encode(Encoder& to, const cuda::Array<T>& array) {
    to.put_count(array.size());
    array.bytes_.encode(to, array.size() * sizeof(T));
  }
  /// @param from where from. @param array what. Throws as encode, and as its constructor.
  static void decode(Decoder& from, cuda::Array<T>& array) {
    const std::size_t count = from.get_count();
    if (count > from.remaining() / sizeof(T))
      detail::raise({ErrorCode::object, "it claims more elements than it has bytes"});
    array = cuda::Array<T>{count};
    array.bytes_.decode(from, count * sizeof(T));
  }
};

}  // namespace tutti::v0
