/// @file
/// The places of a vector's units in one segment, in bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "proof/last_accesses.hpp"

#include "layout.hpp"
#include "lowering.hpp"
#include "rounds.hpp"

namespace tutti::v0::detail {

/// Turns runs of units into bytes.
class Units {
 public:
  /// @param layout outlives this. @param parts number of parts of a block. If all blocks are equal,
  /// offsets count from the beginning of the segment.
  Units(const Layout& layout, std::uint32_t parts, Segment segment, std::size_t element_bytes)
      : layout_{layout}, parts_{parts}, segment_{segment}, element_bytes_{element_bytes} {}

  /// @return the elements of some parts of a block, as a run inside it.
  [[nodiscard]] Extent extent(std::uint32_t block, std::uint32_t part,
                              std::uint32_t count) const noexcept {
    const Partition segments{layout_.count(block), segment_.count};
    const Partition parts{segments.size(segment_.index), parts_};
    const std::size_t begin = parts.offset(part);
    const std::size_t before = layout_.is_equal() ? 0 : segments.offset(segment_.index);
    return {before + begin, parts.offset(part + count) - begin};
  }
  /// Calls visit(extent inside the block, block) for each block that some of the units lie in.
  template <class Visit>
  void for_each_block(std::uint32_t first, std::uint32_t count, Visit visit) const {
    for (std::uint32_t unit = first; unit < first + count;) {
      const std::uint32_t block = unit / parts_;
      const std::uint32_t part = unit % parts_;
      const std::uint32_t parts = std::min(first + count - unit, parts_ - part);
      visit(extent(block, part, parts), block);
      unit += parts;
    }
  }
  /// @return bytes of some units.
  [[nodiscard]] std::size_t bytes(std::uint32_t first, std::uint32_t count) const {
    std::size_t elements = 0;
    for_each_block(first, count,
                   [&](const Extent& extent, std::uint32_t) { elements += extent.count; });
    return elements * element_bytes_;
  }
  [[nodiscard]] std::size_t element_bytes() const noexcept { return element_bytes_; }
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }

 private:
  const Layout& layout_;
  std::uint32_t parts_;
  Segment segment_;
  std::size_t element_bytes_;
};

/// The places of all runs: in the caller's buffers, in memory of the run's own, and in messages.
class Homes {
 public:
  /// @param units outlives this. @param rounds whose held slots get places.
  Homes(const Units& units, const Rounds& rounds) : units_{units} {
    const std::uint32_t all = rounds.parts() * units.layout().contract().blocks();
    for (const std::uint32_t id : rounds.held()) {
      held_.push_back(bytes_);
      bytes_ += units.bytes(id % all, 1);
    }
    stages_ = most_ = bytes_;
  }
  /// Begins the next round, whose stages take the memory of earlier ones.
  void begin_round(std::size_t arrivals) {
    arrivals_before_ += arrivals_.size();
    arrivals_.assign(arrivals, {});
    bytes_ = stages_;
  }
  /// Gives an arrival a stage. @param run of Round::arrivals.
  void stage(const Run& run) {
    const std::size_t begin = bytes_;
    bytes_ += units_.bytes(run.first, run.count);
    arrivals_[run.place] = {{Base::held, 0, 0, begin}, run.first, {Area::stage, begin, bytes_}};
    most_ = std::max(most_, bytes_);
  }
  /// Places an arrival in its message instead of a stage. @param run of Round::arrivals.
  /// @param message number of the message. @param offset of its bytes in the message.
  void pass(const Run& run, std::uint32_t message, std::size_t offset) {
    Arrival& arrival = arrivals_[run.place];
    arrival = {{Base::message, 0, message, offset}, run.first, arrival.stage};
  }
  /// Adds the areas of an arrival to `touched`. @param run of Round::arrivals, or a part of one.
  void touch(const Run& run, std::vector<Touched>& touched) const {
    const std::size_t number = arrivals_before_ + run.place;
    touched.push_back({Area::arrival, number, number + 1});
    touched.push_back(arrivals_[run.place].stage);
  }
  /// Returns the places of a run's parts, one after the other.
  class RunCursor {
   public:
    RunCursor(const Homes& homes, const Run& run) : homes_{homes}, base_{run.base} {
      if (run.base == Base::held) next_ = {Base::held, 0, 0, homes.held_[run.place]};
      if (run.base != Base::message) return;
      const Arrival& arrival = homes.arrivals_[run.place];
      next_ = arrival.place;
      next_.offset += homes.units_.bytes(arrival.first, run.first - arrival.first);
    }
    /// @return the place of the next part. @param extent its elements inside `block`.
    Place next(const Extent& extent, std::uint32_t block) {
      if (base_ == Base::in || base_ == Base::out) return homes_.place_of(base_, extent, block);
      const Place place = next_;
      next_.offset += extent.count * homes_.units_.element_bytes();
      return place;
    }

   private:
    const Homes& homes_;
    Base base_;
    Place next_{};
  };
  [[nodiscard]] const Units& units() const noexcept { return units_; }
  /// @param run of input, output or held memory. @return whether it is contiguous.
  [[nodiscard]] bool is_contiguous(const Run& run) const {
    RunCursor cursor{*this, run};
    bool is_one = true;
    std::size_t end = 0;
    units_.for_each_block(run.first, run.count, [&](const Extent& extent, std::uint32_t block) {
      const std::size_t begin = cursor.next(extent, block).offset;
      if (extent.count == 0) return;
      is_one = is_one && (end == 0 || begin == end);
      end = begin + extent.count * units_.element_bytes();
    });
    return is_one;
  }
  /// @return bytes of the run's own memory.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return most_; }

 private:
  struct Arrival {
    Place place{};
    std::uint32_t first = 0;  // unit
    Touched stage{};          // empty if it has none
  };
  [[nodiscard]] Place place_of(Base base, const Extent& extent, std::uint32_t block) const {
    const Layout& layout = units_.layout();
    const std::size_t first = base == Base::in ? layout.in_offset(block) : layout.out_offset(block);
    return {base, 0, 0, (first + extent.offset) * units_.element_bytes()};
  }

  const Units& units_;
  std::vector<std::size_t> held_{};
  std::vector<Arrival> arrivals_{};
  std::size_t arrivals_before_ = 0;  // of earlier rounds
  std::size_t stages_ = 0;
  std::size_t bytes_ = 0;
  std::size_t most_ = 0;
};

}  // namespace tutti::v0::detail
