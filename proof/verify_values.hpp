/// @file
/// Internal to the verifier: symbolic values, which are expression trees over the ranks'
/// contributions, shared and compared modulo commutativity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tutti/types.hpp>

namespace tutti::verifying {

/// The value of a slot: a tree, how it was rounded at its top, whether its operands are in the
/// order of ranks, and whether it was finished. Packed, since there are many slots.
class Value {
 public:
  /// No value.
  Value() = default;
  /// @param node of the ValueStore. @param ordered whether operands are in the order of ranks.
  Value(std::uint32_t node, bool ordered) : bits_{node << 4 | (ordered ? kOrdered : 0)} {}

  /// @return whether there is a value.
  [[nodiscard]] bool present() const noexcept { return bits_ != kNothing; }
  /// @return the tree's node.
  [[nodiscard]] std::uint32_t node() const noexcept { return bits_ >> 4; }
  /// @return node and rounding marks. If they are equal, every operator gives the same bits.
  [[nodiscard]] std::uint32_t tree() const noexcept { return bits_ >> 2; }
  /// @return the rounding marks.
  [[nodiscard]] std::uint32_t marks() const noexcept { return bits_ >> 2 & 3; }
  /// @return whether operands are in the order of ranks.
  [[nodiscard]] bool ordered() const noexcept { return (bits_ & kOrdered) != 0; }
  /// @return whether it was finished.
  [[nodiscard]] bool finished() const noexcept { return (bits_ & kFinished) != 0; }
  /// @return the value rounded to the datatype.
  [[nodiscard]] Value rounded() const noexcept { return Value{bits_ | kRounded}; }
  /// @return the value finished by the round that folds it: an average is rounded once.
  [[nodiscard]] Value finished_in_fold() const noexcept { return Value{bits_ | kFinished}; }
  /// @return the value finished in a later round: an average of a rounded value is rounded again.
  [[nodiscard]] Value finished_apart() const noexcept {
    return Value{bits_ | kFinished | ((bits_ & kRounded) != 0 ? kRoundedAgain : 0)};
  }

 private:
  explicit Value(std::uint32_t bits) : bits_{bits} {}

  static constexpr std::uint32_t kNothing = 0xFFFFFFFF;
  static constexpr std::uint32_t kFinished = 1;
  static constexpr std::uint32_t kOrdered = 2;
  static constexpr std::uint32_t kRounded = 4;
  static constexpr std::uint32_t kRoundedAgain = 8;

  std::uint32_t bits_ = kNothing;
};

/// The trees of one proof. Equal trees have equal nodes, operands of equal nodes may be swapped.
class ValueStore {
 public:
  /// Forgets all trees but the leaves. @param size number of ranks. @param idempotent whether a
  /// contribution may count more than once.
  void reset(int size, bool idempotent);

  /// @param rank in [0, size). @return that rank's contribution.
  [[nodiscard]] Value leaf(Rank rank) const { return {static_cast<std::uint32_t>(rank), true}; }
  /// @return the reduction of two operands, unrounded; no value if a contribution would count
  /// twice.
  [[nodiscard]] Value combine(Value left, Value right);
  /// @return whether exactly the ranks from 0 to contributors - 1 contribute.
  [[nodiscard]] bool complete(Value value, int contributors) const;
  /// @return a number that is equal in all proofs for equal trees and rounding marks.
  [[nodiscard]] std::uint64_t digest(Value value) const;
  /// @param rank in [0, size). @return whether that rank contributes.
  [[nodiscard]] bool contains(Value value, Rank rank) const;

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t node = 0;
    std::uint32_t epoch = 0;  // the entry is empty unless this is the store's
  };
  struct Bounds {
    Rank low;
    Rank high;
  };

  [[nodiscard]] Entry& find(std::uint64_t key);
  [[nodiscard]] bool join(Value left, Value right);
  void grow();

  int size_ = 0;
  bool idempotent_ = false;
  std::size_t words_ = 1;  // of a contribution set
  std::uint32_t epoch_ = 0;
  std::vector<Bounds> bounds_{};          // per node: lowest and highest contributing rank
  std::vector<std::uint64_t> members_{};  // per node: the contributing ranks
  std::vector<std::uint64_t> digests_{};  // per node: of its tree
  std::vector<Entry> table_{};
};

}  // namespace tutti::verifying
