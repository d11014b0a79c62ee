/// @file
/// Buffer: elements in memory of a communicator's choosing.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include <tutti/error.hpp>
#include <tutti/memory.hpp>

namespace tutti {

/// An array of elements that start as zero bytes. Where `is_visible`, the other ranks of the host
/// read and write it in place during collectives, which saves copies. It may outlive the
/// communicator that made it. Move-only.
/// @tparam T of trivial type.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>, "a buffer is moved between ranks byte by byte");

 public:
  Buffer() = default;
  /// @param memory where to allocate. @param count of elements. @param is_visible whether peers see
  /// this memory. Throws std::bad_alloc.
  Buffer(std::shared_ptr<Memory> memory, std::size_t count, bool is_visible)
      : memory_{std::move(memory)}, count_{count}, is_visible_{is_visible} {
    if (count == 0) return;
    if (count > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length{};
    std::byte* const bytes = memory_->allocate(count * sizeof(T));
    std::memset(bytes, 0, count * sizeof(T));
    data_ = reinterpret_cast<T*>(bytes);
  }
  /// Takes the elements over. @param other is empty afterwards.
  Buffer(Buffer&& other) noexcept { swap(other); }
  /// Takes the elements over. @param other is empty afterwards. @return this.
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer taken{std::move(other)};
    swap(taken);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr)
      memory_->deallocate(reinterpret_cast<std::byte*>(data_), count_ * sizeof(T));
  }

  /// @return the first element, or null.
  [[nodiscard]] T* data() noexcept { return data_; }
  /// @copydoc data
  [[nodiscard]] const T* data() const noexcept { return data_; }
  /// @return how many elements.
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// @return the first element.
  [[nodiscard]] T* begin() noexcept { return data_; }
  /// @copydoc begin
  [[nodiscard]] const T* begin() const noexcept { return data_; }
  /// @return behind the last element.
  [[nodiscard]] T* end() noexcept { return data_ + count_; }
  /// @copydoc end
  [[nodiscard]] const T* end() const noexcept { return data_ + count_; }
  /// @param index less than size(). @return that element.
  [[nodiscard]] T& operator[](std::size_t index) noexcept { return data_[index]; }
  /// @copydoc operator[]
  [[nodiscard]] const T& operator[](std::size_t index) const noexcept { return data_[index]; }
  /// @return all elements, as collectives take them.
  [[nodiscard]] std::span<T> span() noexcept { return {data_, count_}; }
  /// @copydoc span
  [[nodiscard]] std::span<const T> span() const noexcept { return {data_, count_}; }
  /// @return whether the other ranks of the host see this memory.
  [[nodiscard]] bool is_visible() const noexcept { return is_visible_; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    std::swap(is_visible_, other.is_visible_);
  }

  std::shared_ptr<Memory> memory_{};
  T* data_ = nullptr;
  std::size_t count_ = 0;
  bool is_visible_ = false;
};

}  // namespace tutti
