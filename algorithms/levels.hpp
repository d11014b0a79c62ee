/// @file
/// Groups of ranks, and algorithms within and between them.
#pragma once

#include <memory>
#include <vector>

#include "grouping.hpp"
#include "patterns.hpp"

namespace tutti::v0::algorithms {

/// The groups of a hierarchical algorithm, and where one rank is in them. Each group has a leader:
/// the root, or its first rank. Throws Error{invalid_argument} where groups or algorithms do not
/// fit.
class Levels {
 public:
  Levels(const Shape& shape, Rank self);

  [[nodiscard]] int groups() const { return static_cast<int>(grouping_->groups.size()); }
  /// Whether results are scattered over the ranks of a group, and not on its leader only.
  [[nodiscard]] bool scatters() const;
  /// On how many lanes the groups work with each other.
  [[nodiscard]] std::uint32_t lanes() const { return lanes_; }
  /// On how many they do where every rank has a block: within one group nobody needs another's
  /// lane.
  [[nodiscard]] std::uint32_t block_lanes() const { return groups() == 1 ? size_of(0) : lanes_; }
  /// Calls visit(rank) for the ranks of a group that a lane serves: its own there, and those behind
  /// the lanes that are as far behind it.
  template <class Visit>
  void served(int group, std::uint32_t lane, Visit visit) const {
    for (std::uint32_t index = lane; index < size_of(group); index += block_lanes())
      visit(unsigned_of(rank(group, index)));
  }
  [[nodiscard]] std::uint32_t index() const { return unsigned_of(index_); }
  /// This rank's group, and the ranks of any.
  [[nodiscard]] int group() const { return group_; }
  [[nodiscard]] std::uint32_t size_of(int group) const {
    return static_cast<std::uint32_t>(this->group(group).size());
  }
  [[nodiscard]] Rank rank(int group, std::uint32_t index) const {
    return this->group(group)[index];
  }
  [[nodiscard]] bool leads() const { return leader_of(group_) == index_; }
  [[nodiscard]] bool has_root() const { return root_group_ == group_; }

  /// A stage within this rank's group, to or from its leader where it has a root. @param lanes that
  /// have blocks, where it scatters or gathers; the ranks after them have none.
  [[nodiscard]] Schedule within(std::size_t stage, std::uint32_t lanes) const;
  /// The first stage within this rank's group, over whole blocks, to or from its leader where it
  /// has a root.
  [[nodiscard]] Schedule inside() const;
  /// Into how many parts both stages cut a block, in groups of whatever size.
  [[nodiscard]] std::uint32_t parts() const;
  /// A stage between the leaders if the one within has a root, else between the ranks of this one's
  /// index; from the root's group, or to it, if it has a root.
  [[nodiscard]] Schedule between(std::size_t stage) const;
  /// The units of that, of any rank.
  [[nodiscard]] std::uint32_t units_between(std::size_t stage) const;

 private:
  [[nodiscard]] const Choice& stage(std::size_t index) const { return hierarchy_->stages[index]; }
  [[nodiscard]] const std::vector<Rank>& group(int index) const {
    return grouping_->groups[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] std::uint32_t count_lanes() const;
  /// The index of a group's leader.
  [[nodiscard]] int leader_of(int group) const { return group == root_group_ ? root_index_ : 0; }
  [[nodiscard]] Schedule part(std::size_t stage, int group, int index, std::uint32_t lanes) const;

  const Hierarchy* hierarchy_;
  std::shared_ptr<const Grouping> grouping_;
  std::uint32_t lanes_ = 0;
  int group_;
  int index_;
  int root_group_;
  int root_index_;
};

}  // namespace tutti::v0::algorithms
