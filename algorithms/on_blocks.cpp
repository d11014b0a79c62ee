// Schedules whose blocks stand for several blocks of another vector.
#include <tutti/spi/schedule.hpp>

#include <numeric>

#include <tutti/error.hpp>

namespace tutti::v0 {
namespace {

/// Replaces the blocks of a step by the blocks that they stand for, as runs of consecutive units.
class Meaning {
 public:
  /// @param factor every unit becomes this many.
  Meaning(const Blocks& blocks, std::uint32_t parts, std::uint32_t factor)
      : blocks_{blocks}, parts_{parts}, factor_{factor} {}

  void add(const Step& step, Schedule& to) const {
    const bool has_from = step.kind() == Step::Kind::reduce || step.kind() == Step::Kind::copy;
    Slots run{step.slots().space, 0, 0};
    std::uint32_t from = 0;
    for (std::uint32_t i = 0; i < step.slots().count; ++i) {
      const std::uint32_t unit = step.slots().first + i;
      const std::uint32_t source = has_from ? step.from().first + i : unit;
      expects(block(unit) == block(source), "blocks that stand for others are not mixed");
      const std::uint32_t first = place(unit);
      const std::uint32_t first_from = place(source);
      for (const std::uint32_t meant : blocks_.meant(block(unit))) {
        const std::uint32_t next = first + meant * parts_;
        const std::uint32_t next_from = first_from + meant * parts_;
        if (run.count > 0 && next == run.first + run.count && next_from == from + run.count) {
          ++run.count;
          continue;
        }
        if (run.count > 0) to.add(step.over(run, from).refined(factor_));
        run = {run.space, next, 1};
        from = next_from;
      }
    }
    if (run.count > 0) to.add(step.over(run, from).refined(factor_));
  }

 private:
  [[nodiscard]] std::uint32_t units() const { return blocks_.own * parts_; }
  [[nodiscard]] std::uint32_t block(std::uint32_t unit) const { return unit % units() / parts_; }
  /// The unit's place if its block stood for block 0.
  [[nodiscard]] std::uint32_t place(std::uint32_t unit) const {
    return unit / units() * blocks_.count * parts_ + unit % parts_;
  }

  const Blocks& blocks_;
  std::uint32_t parts_;
  std::uint32_t factor_;
};

}  // namespace

Schedule on_blocks(const Schedule& schedule, const Blocks& blocks) {
  return then(Schedule{1}, schedule, blocks);
}

Schedule then(Schedule first, const Schedule& second, const Blocks& blocks) {
  expects(blocks.own > 0 && second.units() % blocks.own == 0,
          "a vector has as many blocks as stand for others");
  const std::uint32_t parts = second.units() / blocks.own;
  const std::uint32_t meant = blocks.count * parts;
  expects(meant > 0, "blocks stand for others of a vector");
  const std::uint32_t units = std::lcm(first.units(), meant);
  Schedule both = refine(std::move(first), units);
  both.append(Schedule{units, second.planes(), second.paced()});
  const Meaning meaning{blocks, parts, units / meant};
  for (std::size_t index = 0; index < second.rounds(); ++index) {
    for (const Step& step : second.round(index)) meaning.add(step, both);
    both.end_round();
  }
  return both;
}

}  // namespace tutti::v0
