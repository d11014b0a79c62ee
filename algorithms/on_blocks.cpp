// Schedules whose blocks stand for several blocks of another vector.
#include <tutti/schedule.hpp>

#include <tutti/error.hpp>

namespace tutti {
namespace {

/// What a step over blocks is over those that they stand for: runs of consecutive units.
class Meaning {
 public:
  Meaning(const Blocks& blocks, std::uint32_t parts) : blocks_{blocks}, parts_{parts} {}

  void add(const Step& step, Schedule& to) const {
    const bool has_from = step.kind() == Step::Kind::reduce || step.kind() == Step::Kind::copy;
    Slots run{step.slots().space, 0, 0};
    std::uint32_t from = 0;
    for (std::uint32_t i = 0; i < step.slots().count; ++i) {
      const std::uint32_t unit = step.slots().first + i;
      const std::uint32_t source = has_from ? step.from().first + i : unit;
      expects(block(unit) == block(source), "blocks that stand for others are not mixed");
      for (const std::uint32_t meant : blocks_.meant(block(unit))) {
        const std::uint32_t next = place(unit, meant);
        const std::uint32_t next_from = place(source, meant);
        if (run.count > 0 && next == run.first + run.count && next_from == from + run.count) {
          ++run.count;
          continue;
        }
        if (run.count > 0) to.add(step.over(run, from));
        run = {run.space, next, 1};
        from = next_from;
      }
    }
    if (run.count > 0) to.add(step.over(run, from));
  }

 private:
  [[nodiscard]] std::uint32_t units() const { return blocks_.own * parts_; }
  [[nodiscard]] std::uint32_t block(std::uint32_t unit) const { return unit % units() / parts_; }
  [[nodiscard]] std::uint32_t place(std::uint32_t unit, std::uint32_t meant) const {
    return (unit / units() * blocks_.count + meant) * parts_ + unit % parts_;
  }

  const Blocks& blocks_;
  std::uint32_t parts_;
};

}  // namespace

Schedule on_blocks(const Schedule& schedule, const Blocks& blocks) {
  expects(blocks.own > 0 && schedule.units() % blocks.own == 0,
          "a vector has as many blocks as stand for others");
  const std::uint32_t parts = schedule.units() / blocks.own;
  const Meaning meaning{blocks, parts};
  Schedule other{blocks.count * parts, schedule.planes()};
  for (std::size_t index = 0; index < schedule.rounds(); ++index) {
    for (const Step& step : schedule.round(index)) meaning.add(step, other);
    other.end_round();
  }
  return other;
}

}  // namespace tutti
