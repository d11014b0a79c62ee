/// @file
/// Buffer: elements in memory that the communicator allocates.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <tutti/byte_count.hpp>
#include <tutti/export.hpp>
#include <tutti/raise.hpp>

namespace tutti::v0 {

/// An array of elements that start as zero bytes. If `is_visible`, the other ranks of the host read
/// and write it in place during collectives, which saves copies. It may outlive its communicator.
/// Move-only.
/// @tparam T of trivial type.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>, "the bytes of a buffer are sent between ranks");

 public:
  Buffer() = default;
  /// @param memory the elements, zeroed; null if there are none.
  /// @param is_visible whether the other ranks of the host see the memory.
  Buffer(std::shared_ptr<std::byte> memory, std::size_t count, bool is_visible) noexcept
      : memory_{std::move(memory)}, count_{count}, is_visible_{is_visible} {}
  /// Moves the elements; `other` is then empty.
  Buffer(Buffer&& other) noexcept { swap(other); }
  /// Moves the elements; `other` is then empty.
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer taken{std::move(other)};
    swap(taken);
    return *this;
  }

  /// @return the bytes of `count` elements. Throws std::bad_array_new_length if no array has so
  /// many.
  [[nodiscard]] static std::size_t bytes_of(std::size_t count) {
    const std::optional<std::size_t> bytes = detail::byte_count(count, sizeof(T));
    if (!bytes) detail::raise_bad_length();
    return *bytes;
  }
  /// @return the first element, or null.
  [[nodiscard]] T* data() noexcept { return reinterpret_cast<T*>(memory_.get()); }
  /// @copydoc data
  [[nodiscard]] const T* data() const noexcept { return reinterpret_cast<const T*>(memory_.get()); }
  /// @return the number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// @return the first element.
  [[nodiscard]] T* begin() noexcept { return data(); }
  /// @copydoc begin
  [[nodiscard]] const T* begin() const noexcept { return data(); }
  /// @return the end of the elements.
  [[nodiscard]] T* end() noexcept { return data() + count_; }
  /// @copydoc end
  [[nodiscard]] const T* end() const noexcept { return data() + count_; }
  /// @param index less than size().
  [[nodiscard]] T& operator[](std::size_t index) noexcept { return data()[index]; }
  /// @copydoc operator[]
  [[nodiscard]] const T& operator[](std::size_t index) const noexcept { return data()[index]; }
  /// @return all elements, as an argument of collectives.
  [[nodiscard]] std::span<T> span() noexcept { return {data(), count_}; }
  /// @copydoc span
  [[nodiscard]] std::span<const T> span() const noexcept { return {data(), count_}; }
  /// @return whether the other ranks of the host see this memory.
  [[nodiscard]] bool is_visible() const noexcept { return is_visible_; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(count_, other.count_);
    std::swap(is_visible_, other.is_visible_);
  }

  std::shared_ptr<std::byte> memory_{};
  std::size_t count_ = 0;
  bool is_visible_ = false;
};

}  // namespace tutti::v0
