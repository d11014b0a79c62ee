/// @file
/// SharedArray: elements that the processes of a host share.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include <tutti/communicator.hpp>
#include <tutti/export.hpp>

namespace tutti::v0 {

namespace detail {

/// Bytes that the processes of a host share.
class TUTTI_API SharedMemory {
 public:
  SharedMemory() noexcept = default;
  SharedMemory(Communicator& world, std::size_t count, std::size_t element_bytes,
               const Options& options);
  SharedMemory(SharedMemory&& other) noexcept { swap(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    SharedMemory moved{std::move(other)};
    swap(moved);
    return *this;
  }
  ~SharedMemory();

  [[nodiscard]] void* data() const noexcept { return base_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] Rank owner() const noexcept { return owner_; }
  [[nodiscard]] bool is_owner() const noexcept { return is_owner_; }

 private:
  void make(Communicator& world, std::size_t count, std::size_t element_bytes, const Options& own);
  void swap(SharedMemory& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    std::swap(count_, other.count_);
    std::swap(owner_, other.owner_);
    std::swap(is_owner_, other.is_owner_);
  }
  void* base_ = nullptr;  // null where there are no bytes
  std::size_t bytes_ = 0;
  std::size_t count_ = 0;
  Rank owner_ = -1;
  bool is_owner_ = false;
};

}  // namespace detail

/// An array of which there is one on each host, for data that all processes there read, such as a
/// data set: it takes its memory once instead of once per rank. Elements start as zero bytes. Ranks
/// that are threads of one process share it too.
///
/// It is memory only: a rank may read what another one wrote after both have synchronised, for
/// example in Communicator::barrier. With once_per_node the owners write, and all ranks wait and
/// get an error if an owner fails.
///
/// The memory has no name in any file system. The system frees it when the last array that shares
/// it has ended, or the process of that array, even by a crash. Move-only. @tparam T of trivial
/// type.
template <class T>
class SharedArray {
  static_assert(std::is_trivially_copyable_v<T>, "processes share bytes, not objects");
  static_assert(alignof(T) <= 4096, "the array begins at a page of memory");

 public:
  /// No elements.
  SharedArray() noexcept = default;
  /// Collective. Ranks are on one host as for once_per_node; they must be processes of one user,
  /// and see each other in /proc.
  /// @param world not needed afterwards. @param count may be 0; equal on all ranks.
  /// @param options only the timeout counts. Throws the same Error on all ranks, which leaves the
  /// communicator usable: invalid_argument for counts, or sizes of T, that differ; transport if a
  /// host lacks the memory, or its system denies it.
  SharedArray(Communicator& world, std::size_t count, const Options& options = {})
      : memory_{world, count, sizeof(T), options} {}

  /// @return the first element, or null; its address differs between processes.
  [[nodiscard]] T* data() noexcept { return static_cast<T*>(memory_.data()); }
  /// @copydoc data
  [[nodiscard]] const T* data() const noexcept { return static_cast<const T*>(memory_.data()); }
  /// @return the number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return memory_.count(); }
  /// @return the first element.
  [[nodiscard]] T* begin() noexcept { return data(); }
  /// @copydoc begin
  [[nodiscard]] const T* begin() const noexcept { return data(); }
  /// @return the end of the elements.
  [[nodiscard]] T* end() noexcept { return data() + size(); }
  /// @copydoc end
  [[nodiscard]] const T* end() const noexcept { return data() + size(); }
  /// @param index less than size().
  [[nodiscard]] T& operator[](std::size_t index) noexcept { return data()[index]; }
  /// @copydoc operator[]
  [[nodiscard]] const T& operator[](std::size_t index) const noexcept { return data()[index]; }
  /// @return all elements.
  [[nodiscard]] std::span<T> span() noexcept { return {data(), size()}; }
  /// @copydoc span
  [[nodiscard]] std::span<const T> span() const noexcept { return {data(), size()}; }

  /// @return whether this rank is the lowest one of its host, which fills the array.
  [[nodiscard]] bool is_owner() const noexcept { return memory_.is_owner(); }
  /// @return the lowest rank of this host, or -1 of an array without communicator.
  [[nodiscard]] Rank owner() const noexcept { return memory_.owner(); }

 private:
  detail::SharedMemory memory_{};
};

}  // namespace tutti::v0
