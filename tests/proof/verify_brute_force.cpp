#include "verify_brute_force.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

namespace tutti::samples {
namespace {

/// The map x -> a * x + b. Composing such maps is associative and does not commute, unless a = 1.
struct Number {
  std::uint64_t a = 1;
  std::uint64_t b = 0;
  friend bool operator==(const Number&, const Number&) = default;
};
using Cell = std::optional<Number>;

struct Broken {};  // thrown where a run cannot go on

struct How {
  bool in_place;
  bool backwards;  // the local effects of a round
  bool ordered;
};

std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 31)) * 0x9E3779B97F4A7C15ULL + 12345;
  return (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9ULL;
}

struct Effect {
  Step step;
  std::vector<Number> incoming;
};

class World {
 public:
  World(const Sample& sample, const How& how)
      : sample_{sample}, contract_{sample.contract}, how_{how}, units_{sample.schedules[0].units()},
        round_(sample.schedules.size(), 0), memory_(sample.schedules.size()) {
    for (std::size_t rank = 0; rank < memory_.size(); ++rank)
      if (how.in_place)
        for (std::uint32_t u = 0; u < units_; ++u) memory_[rank][{Space::out, u}] = input(rank, u);
  }

  bool right();

 private:
  using Key = std::pair<Space, std::uint32_t>;
  using Ends = std::pair<std::size_t, std::size_t>;

  [[nodiscard]] std::uint32_t block(std::uint32_t unit) const {
    return unit / (units_ / contract_.blocks());
  }
  [[nodiscard]] Cell input(std::size_t rank, std::uint32_t unit) const {
    if (!contract_.has_input(static_cast<Rank>(rank), block(unit))) return {};
    return contribution(rank, unit);
  }
  [[nodiscard]] Number contribution(std::size_t rank, std::uint32_t unit) const {
    if (contract_.collective == Collective::barrier) return {1, std::uint64_t{1} << rank};
    const std::uint64_t seed = scramble(rank * 1000 + unit + 1);
    return {how_.ordered ? seed | 1 : 1, scramble(seed)};
  }
  [[nodiscard]] Number combine(const Number& left, const Number& right) const {
    if (contract_.collective == Collective::barrier) return {1, left.b | right.b};
    return {left.a * right.a, left.a * right.b + left.b};
  }
  [[nodiscard]] Number complete(const Number& x) const {
    if (contract_.collective == Collective::barrier) return x;
    return {scramble(x.a), scramble(x.b ^ x.a)};
  }
  [[nodiscard]] Number read(std::size_t rank, Space space, std::uint32_t slot) {
    Cell cell{};
    if (how_.in_place && space == Space::in) space = Space::out;
    if (space == Space::in) {
      cell = input(rank, slot);
    } else {
      cell = memory_[rank][{space, slot}];
      if (!cell && space == Space::out && !how_.in_place) cell = input(rank, slot);
    }
    if (!cell) throw Broken{};
    return *cell;
  }
  void write(std::size_t rank, const Slots& slots, std::uint32_t index, const Number& value) {
    if (slots.space == Space::in) throw Broken{};
    memory_[rank][{slots.space, slots.first + index}] = value;
  }
  void check_slots(std::size_t rank, const Slots& slots) const {
    const std::uint32_t planes = sample_.schedules[rank].planes();
    const std::uint32_t limit = slots.space == Space::scratch ? units_ * planes : units_;
    if (slots.first + slots.count > limit) throw Broken{};
  }

  [[nodiscard]] bool done(std::size_t rank) const {
    return round_[rank] == sample_.schedules[rank].rounds();
  }
  [[nodiscard]] std::vector<Slots> parts(std::size_t rank, bool sends, std::size_t peer) const;
  [[nodiscard]] bool try_messages();
  bool try_round(std::size_t rank);
  void apply(std::size_t rank, const Effect& effect);
  void deliver(std::size_t from, std::size_t to);

  const Sample& sample_;
  const Contract& contract_;
  How how_;
  std::uint32_t units_;
  std::vector<std::size_t> round_;
  std::vector<std::map<Key, Cell>> memory_;
  std::map<Ends, std::vector<Number>> moved_{};  // by the open round of the receiver
  std::map<Ends, bool> sent_{};                  // by the open round of the sender
};

/// The parts of the message between a rank, in its open round, and a peer; empty if there is none.
std::vector<Slots> World::parts(std::size_t rank, bool sends, std::size_t peer) const {
  std::vector<Slots> result{};
  if (done(rank)) return result;
  for (const Step& step : sample_.schedules[rank].round(round_[rank])) {
    if (!step.has_peer() || static_cast<std::size_t>(step.peer()) != peer) continue;
    if ((step.kind() == Step::Kind::send) == sends) result.push_back(step.slots());
  }
  return result;
}

void World::deliver(std::size_t from, std::size_t to) {
  std::vector<std::uint32_t> sent{};
  std::vector<std::uint32_t> received{};
  std::vector<Number> values{};
  for (const Slots& slots : parts(from, true, to))
    for (std::uint32_t i = 0; i < slots.count; ++i) {
      sent.push_back((slots.first + i) % units_);
      values.push_back(read(from, slots.space, slots.first + i));
    }
  for (const Slots& slots : parts(to, false, from))
    for (std::uint32_t i = 0; i < slots.count; ++i) received.push_back((slots.first + i) % units_);
  if (sent != received) throw Broken{};  // Units differ in size.
  moved_[{from, to}] = values;
  sent_[{from, to}] = true;
}

bool World::try_messages() {
  bool progress = false;
  for (std::size_t from = 0; from < round_.size(); ++from)
    for (std::size_t to = 0; to < round_.size(); ++to) {
      if (sent_.count({from, to}) != 0 || moved_.count({from, to}) != 0) continue;
      if (parts(from, true, to).empty() || parts(to, false, from).empty()) continue;
      deliver(from, to);
      progress = true;
    }
  return progress;
}

void World::apply(std::size_t rank, const Effect& effect) {
  const Step& step = effect.step;
  for (std::uint32_t i = 0; i < step.slots().count; ++i) {
    const Slots slots = step.slots();
    const bool local = step.kind() == Step::Kind::reduce || step.kind() == Step::Kind::copy;
    const Number other =
        local ? read(rank, step.from().space, step.from().first + i) : effect.incoming[i];
    if (step.kind() == Step::Kind::recv || step.kind() == Step::Kind::copy) {
      write(rank, slots, i, other);
      continue;
    }
    const Number own = read(rank, slots.space, slots.first + i);
    write(rank, slots, i, step.side() == Side::left ? combine(other, own) : combine(own, other));
  }
}

bool World::try_round(std::size_t rank) {
  if (done(rank)) return false;
  std::vector<Effect> effects{};
  std::vector<Slots> finished{};
  std::map<std::size_t, std::size_t> taken{};
  for (const Step& step : sample_.schedules[rank].round(round_[rank])) {
    check_slots(rank, step.slots());
    if (step.kind() == Step::Kind::finish) {
      finished.push_back(step.slots());
      continue;
    }
    if (!step.has_peer()) {
      check_slots(rank, step.from());
      effects.push_back({step, {}});
      continue;
    }
    if (step.peer() < 0 || static_cast<std::size_t>(step.peer()) >= round_.size()) throw Broken{};
    const auto peer = static_cast<std::size_t>(step.peer());
    if (step.kind() == Step::Kind::send) {
      if (sent_.count({rank, peer}) == 0) return false;
      continue;
    }
    const auto message = moved_.find({peer, rank});
    if (message == moved_.end()) return false;
    const auto begin = message->second.begin() + static_cast<std::ptrdiff_t>(taken[peer]);
    taken[peer] += step.slots().count;
    effects.push_back({step, {begin, begin + step.slots().count}});
  }
  if (how_.backwards) std::reverse(effects.begin(), effects.end());
  for (const Effect& effect : effects) apply(rank, effect);
  for (const Slots& slots : finished)
    for (std::uint32_t i = 0; i < slots.count; ++i)
      write(rank, slots, i, complete(read(rank, slots.space, slots.first + i)));
  for (std::size_t peer = 0; peer < round_.size(); ++peer) {
    moved_.erase({peer, rank});
    sent_.erase({rank, peer});
  }
  ++round_[rank];
  return true;
}

bool World::right() {
  for (bool progress = true; progress;) {
    progress = try_messages();
    for (std::size_t rank = 0; rank < round_.size(); ++rank) progress = try_round(rank) || progress;
  }
  for (std::size_t rank = 0; rank < round_.size(); ++rank) {
    if (!done(rank)) return false;
    for (std::uint32_t unit = 0; unit < units_; ++unit) {
      if (!contract_.wants_output(static_cast<Rank>(rank), block(unit))) continue;
      Number wanted{};
      if (contract_.reduces()) {
        wanted = contribution(0, unit);
        std::size_t last = round_.size();
        if (contract_.collective == Collective::scan) last = rank + 1;
        if (contract_.collective == Collective::exscan) last = rank;
        for (std::size_t other = 1; other < last; ++other)
          wanted = combine(wanted, contribution(other, unit));
        wanted = complete(wanted);
      } else {
        wanted = contribution(static_cast<std::size_t>(contract_.source(block(unit))), unit);
      }
      if (!(read(rank, Space::out, unit) == wanted)) return false;
    }
  }
  return true;
}

}  // namespace

bool runs_right(const Sample& sample, bool ordered) {
  for (const bool in_place : {false, true})
    for (const bool backwards : {false, true}) {
      try {
        if (!World{sample, {in_place, backwards, ordered}}.right()) return false;
      } catch (const Broken&) {
        return false;
      }
    }
  return true;
}

}  // namespace tutti::samples
