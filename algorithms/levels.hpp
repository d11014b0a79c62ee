/// @file
/// Groups of ranks, and algorithms within and between them.
#pragma once

#include <memory>
#include <vector>

#include "grouping.hpp"
#include "patterns.hpp"

namespace tutti::v0::algorithms {

/// The groups of a hierarchical algorithm, and the position of one rank in them. Each group has a
/// leader: the root, or its first rank. Throws Error{invalid_argument} if groups or algorithms do
/// not fit.
class Levels {
 public:
  Levels(const Shape& shape, Rank self);

  [[nodiscard]] int groups() const { return static_cast<int>(grouping_->groups.size()); }
  /// Whether results are scattered over the ranks of a group, or on its leader only.
  [[nodiscard]] bool scatters() const;
  /// The number of lanes between groups.
  [[nodiscard]] std::uint32_t lanes() const { return lanes_; }
  /// The lanes if every rank has a block. One group needs no lanes between groups, so each of its
  /// ranks is one.
  [[nodiscard]] std::uint32_t block_lanes() const { return groups() == 1 ? size_of(0) : lanes_; }
  /// Calls visit(rank) for the ranks of a group that a lane serves: those whose index modulo the
  /// number of lanes is the lane.
  template <class Visit>
  void served(int group, std::uint32_t lane, Visit visit) const {
    for (std::uint32_t index = lane; index < size_of(group); index += block_lanes())
      visit(unsigned_of(rank(group, index)));
  }
  [[nodiscard]] std::uint32_t index() const { return unsigned_of(index_); }
  /// This rank's group, and the number of ranks of any group.
  [[nodiscard]] int group() const { return group_; }
  [[nodiscard]] std::uint32_t size_of(int group) const {
    return static_cast<std::uint32_t>(this->group(group).size());
  }
  [[nodiscard]] Rank rank(int group, std::uint32_t index) const {
    return this->group(group)[index];
  }
  [[nodiscard]] bool leads() const { return leader_of(group_) == index_; }
  [[nodiscard]] bool has_root() const { return root_group_ == group_; }

  /// A stage within this rank's group, to or from its leader if it has a root. @param lanes ranks
  /// of the group that have blocks, if the stage scatters or gathers.
  [[nodiscard]] Schedule within(std::size_t stage, std::uint32_t lanes) const;
  /// The first stage within this rank's group, over whole blocks, to or from its leader if it has a
  /// root.
  [[nodiscard]] Schedule inside() const;
  /// The number of parts into which both stages cut a block, for all sizes of groups.
  [[nodiscard]] std::uint32_t parts() const;
  /// A stage between groups: among the leaders if the stage within groups has a root, else among
  /// the ranks of this rank's index. It is from or to the root's group if it has a root.
  [[nodiscard]] Schedule between(std::size_t stage) const;
  /// The units of between(stage), equal for all ranks.
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
