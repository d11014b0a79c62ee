#include "levels.hpp"

#include <numeric>

#include <tutti/spi/contract.hpp>

#include "refuse.hpp"

namespace tutti::v0::algorithms {
namespace {

const Hierarchy* hierarchy_in(const Shape& shape) {
  if (shape.hierarchy == nullptr)
    reject(
        "it needs two algorithms and groups, and they are missing: write for example "
        "hierarchical(circulant, ring):groups=4");
  return shape.hierarchy.get();
}

Schedule build(const Choice& choice, int size, Rank root, Rank self) {
  try {
    require(choice.algorithm->traits.sizes, size);
    return continued(choice.build(size, is_rooted(choice.algorithm->collective) ? root : 0, self));
  } catch (const Error& error) {
    reject(choice.text() + " cannot serve " + std::to_string(size) +
           " of the ranks: " + error.what());
  }
}

}  // namespace

Levels::Levels(const Shape& shape, Rank self)
    : hierarchy_{hierarchy_in(shape)}, grouping_{grouping_of(*hierarchy_, shape.size)},
      group_{grouping_->group_of[static_cast<std::size_t>(self)]},
      index_{grouping_->index_of[static_cast<std::size_t>(self)]},
      root_group_{grouping_->group_of[static_cast<std::size_t>(shape.root)]},
      root_index_{grouping_->index_of[static_cast<std::size_t>(shape.root)]} {
  lanes_ = count_lanes();
}

bool Levels::scatters() const {
  return !is_rooted(stage(0).algorithm->collective);
}

std::uint32_t Levels::count_lanes() const {
  const int most = scatters() ? grouping_->smallest : 1;
  if (hierarchy_->lanes > most)
    reject("it would have " + std::to_string(hierarchy_->lanes) + " lanes, and " +
           (scatters() ? "the smallest group has " + std::to_string(most) + " ranks"
                       : stage(0).text() + " works for one"));
  return unsigned_of(hierarchy_->lanes == 0 ? most : hierarchy_->lanes);
}

Schedule Levels::part(std::size_t stage, int group, int index, std::uint32_t lanes) const {
  const int size = static_cast<int>(this->group(group).size());
  const Schedule whole = build(this->stage(stage), size, leader_of(group), index);
  return scatters() ? first_blocks(whole, lanes, unsigned_of(size)) : whole;
}

Schedule Levels::within(std::size_t stage, std::uint32_t lanes) const {
  // All ranks cut the vector into equally many units, even if groups differ in size.
  std::uint32_t units = 1;
  for (const int group : grouping_->kinds)
    units = std::lcm(units, part(stage, group, 0, lanes).units());
  return refine(on(group(group_), part(stage, group_, index_, lanes)), units);
}

Schedule Levels::inside() const {
  return on(group(group_),
            build(stage(0), static_cast<int>(size_of(group_)), leader_of(group_), index_));
}

std::uint32_t Levels::parts() const {
  const auto parts_of = [](const Choice& choice, int size) {
    return build(choice, size, 0, 0).units() /
           Contract{choice.algorithm->collective, size}.blocks();
  };
  std::uint32_t parts = parts_of(stage(1), groups());
  for (const int group : grouping_->kinds)
    parts = std::lcm(parts, parts_of(stage(0), static_cast<int>(size_of(group))));
  return parts;
}

Schedule Levels::between(std::size_t stage) const {
  std::vector<Rank> members;
  for (int group = 0; group < groups(); ++group) {
    const int index = scatters() ? index_ : leader_of(group);
    members.push_back(this->group(group)[static_cast<std::size_t>(index)]);
  }
  return on(members, build(this->stage(stage), groups(), root_group_, group_));
}

std::uint32_t Levels::units_between(std::size_t stage) const {
  const Choice& choice = this->stage(stage);
  const When identical = choice.algorithm->traits.rank_identical;
  if (!is_rooted(choice.algorithm->collective) && !holds(identical, groups(), 0))
    reject(choice.text() + " would leave different bits in the groups");
  return build(choice, groups(), root_group_, 0).units();
}

}  // namespace tutti::v0::algorithms
