/// @file
/// A first-in, first-out queue of objects that are linked through a member of theirs.
#pragma once

#include <memory>
#include <utility>

#include <tutti/version.hpp>

namespace tutti::v0::detail {

/// First in, first out. An object is in one queue at most, through its member `next`, so that
/// queues allocate nothing. Where `next` is a std::shared_ptr the queue shares the objects, else it
/// owns nothing.
template <class T>
class Queue {
 public:
  /// A pointer to an object.
  using Pointer = decltype(T::next);

  [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
  /// @return the oldest, or null.
  [[nodiscard]] T* front() const noexcept { return std::to_address(head_); }
  /// @param item goes to the end.
  void push(Pointer item) noexcept {
    T* const last = std::to_address(item);
    last->next = nullptr;
    (tail_ != nullptr ? tail_->next : head_) = std::move(item);
    tail_ = last;
  }
  /// Removes the oldest. @return it. Not of an empty queue.
  Pointer pop() noexcept { return remove(head_, nullptr); }
  /// Removes the oldest that fits. @param fits a predicate. @return it, or null.
  template <class Fits>
  Pointer pop_if(Fits fits) noexcept {
    T* before = nullptr;
    for (Pointer* at = &head_; *at != nullptr; at = &before->next) {
      if (fits(std::as_const(**at))) return remove(*at, before);
      before = std::to_address(*at);
    }
    return nullptr;
  }

 private:
  Pointer remove(Pointer& at, T* before) noexcept {
    Pointer item = std::move(at);
    at = std::move(item->next);
    if (at == nullptr) tail_ = before;
    return item;
  }

  Pointer head_ = nullptr;
  T* tail_ = nullptr;
};

}  // namespace tutti::v0::detail
