/// @file
/// Objects and buffers that are kept for reuse: after warm-up nothing is allocated.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace tutti::tcp {

/// First in, first out, linked through T::next. Owns nothing.
template <class T>
class Queue {
 public:
  /// @return whether there is nothing in it.
  [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
  /// @return the oldest, or null.
  [[nodiscard]] T* front() const noexcept { return head_; }
  /// @param item to the end. In no queue yet.
  void push(T* item) noexcept {
    item->next = nullptr;
    if (tail_ != nullptr) tail_->next = item;
    else head_ = item;
    tail_ = item;
  }
  /// Removes the oldest. @return it. Not of an empty queue.
  T* pop() noexcept {
    T* const item = head_;
    head_ = item->next;
    if (head_ == nullptr) tail_ = nullptr;
    return item;
  }
  /// Removes the oldest that fits. @param fits asked of each until it says yes. @return it, or
  /// null.
  template <class Fits>
  T* take(Fits fits) noexcept {
    T* before = nullptr;
    for (T* item = head_; item != nullptr; before = item, item = item->next) {
      if (!fits(*item)) continue;
      (before != nullptr ? before->next : head_) = item->next;
      if (tail_ == item) tail_ = before;
      return item;
    }
    return nullptr;
  }
  /// Removes one. @param wanted which. @return whether it was there.
  bool remove(const T* wanted) noexcept {
    return take([wanted](const T& item) { return &item == wanted; }) != nullptr;
  }

 private:
  T* head_ = nullptr;
  T* tail_ = nullptr;
};

/// Makes objects and takes them back. T::reset readies a used one.
template <class T>
class Pool {
 public:
  /// @return one as if just made, but for memory it kept.
  [[nodiscard]] T* get() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<T>());
      free_.reserve(all_.capacity());  // so that put cannot fail
      return all_.back().get();
    }
    T* const object = free_.back();
    free_.pop_back();
    object->reset();
    return object;
  }
  /// @param object what get returned.
  void put(T* object) noexcept { free_.push_back(object); }

 private:
  std::vector<std::unique_ptr<T>> all_{};
  std::vector<T*> free_{};
};

/// Aligned to a cache line.
class Buffer {
 public:
  Buffer() = default;
  /// @param bytes its size.
  explicit Buffer(std::size_t bytes)
      : data_{static_cast<std::byte*>(::operator new(bytes, kAlignment))}, size_{bytes} {}
  /// @return the bytes.
  [[nodiscard]] std::byte* data() const noexcept { return data_.get(); }
  /// @return how many.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* data) const noexcept { ::operator delete(data, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> data_{};
  std::size_t size_ = 0;
};

/// Buffers for messages nobody has asked for yet, in powers of two, so that a short message does
/// not keep a long buffer.
class Buffers {
 public:
  /// @param bytes at least so many. @return a buffer of the next power of two.
  [[nodiscard]] Buffer get(std::size_t bytes) {
    std::vector<Buffer>& free = class_of(bytes);
    if (free.empty()) return Buffer{std::bit_ceil(bytes)};
    Buffer buffer = std::move(free.back());
    free.pop_back();
    return buffer;
  }
  /// @param buffer what get returned, or an empty one.
  void put(Buffer buffer) {
    if (buffer.size() > 0) class_of(buffer.size()).push_back(std::move(buffer));
  }

 private:
  [[nodiscard]] std::vector<Buffer>& class_of(std::size_t bytes) noexcept {
    return free_[static_cast<std::size_t>(std::bit_width(std::bit_ceil(bytes)))];
  }
  std::array<std::vector<Buffer>, 66> free_{};
};

}  // namespace tutti::tcp
