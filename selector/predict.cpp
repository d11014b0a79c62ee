#include "predict.hpp"

#include <numeric>

#include "byte_offsets.hpp"
#include "predict_flow.hpp"
#include "saturating.hpp"

namespace tutti::v0 {

void find_peers(std::span<const Step> round, bool sending, std::vector<Rank>& peers) {
  peers.clear();
  for (const Step& step : round)
    if (step.has_peer() && (step.kind() == Step::Kind::send) == sending)
      peers.push_back(step.peer());
  if (peers.size() < 2) return;
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
}

std::int64_t messages_in(std::span<const Step> round) {
  const auto sends = std::count_if(
      round.begin(), round.end(), [](const Step& step) { return step.kind() == Step::Kind::send; });
  if (sends < 2) return sends;  // the usual case, without a list
  std::vector<Rank> peers;
  find_peers(round, true, peers);
  return static_cast<std::int64_t>(peers.size());
}

detail::Accesses accesses_of(std::span<const Step> round) {
  const auto touched = [](const Slots& slots) {
    const detail::Area area =
        slots.space == Space::scratch ? detail::Area::held : detail::Area::out;
    return detail::Touched{area, slots.first, std::uint64_t{slots.first} + slots.count};
  };
  detail::Accesses accesses;
  for (const Step& step : round) {
    const Step::Kind kind = step.kind();
    if (kind == Step::Kind::reduce || kind == Step::Kind::copy)
      accesses.reads.push_back(touched(step.from()));
    (kind == Step::Kind::send ? accesses.reads : accesses.writes).push_back(touched(step.slots()));
  }
  return accesses;
}

void check_units(std::span<const Schedule> schedules) {
  for (std::size_t rank = 1; rank < schedules.size(); ++rank)
    if (schedules[rank].units() != schedules[0].units())
      throw Error{ErrorCode::invalid_argument,
                  "rank " + std::to_string(rank) + " has " +
                      std::to_string(schedules[rank].units()) + " units, rank 0 has " +
                      std::to_string(schedules[0].units()) + "; all must agree",
                  static_cast<Rank>(rank)};
}

namespace {

using detail::plus, detail::share_of, detail::times;

Work later_of(const Work& a, const Work& b) noexcept {
  return {std::max(a.messages, b.messages), std::max(a.moved, b.moved),
          std::max(a.reduced, b.reduced),   std::max(a.received, b.received),
          std::max(a.stored, b.stored),     std::max(a.passed, b.passed)};
}

std::int64_t units_in(const Slots& slots) noexcept {
  return slots.count;
}

/// Counts units along the longest path, for each member separately.
struct CountUnits {
  Work busy(RoundOf, std::span<const Step> round, Work now) const {
    const RoundWork work = work_of(round, units_in);
    now.messages += work.messages;
    now.moved += std::max(work.in, work.out);
    now.passed += work.in + work.out;
    return now;
  }
  Work later(const Work& a, const Work& b) const noexcept { return later_of(a, b); }
  Work done(RoundOf, std::span<const Step> round, Work now) const {
    const RoundWork work = work_of(round, units_in);
    now.reduced += work.reduced;
    now.received += work.in;
    now.stored += work.stored;
    return now;
  }
  void matched(RoundOf, RoundOf, const Work&) const noexcept {}
};

/// Adds up times along the path that takes longest.
struct PriceBytes {
  const ByteOffsets& size_of;
  const LinkCosts& costs;

  Femtoseconds busy(RoundOf, std::span<const Step> round, Femtoseconds now) const {
    const RoundWork work = work_of(round, size_of);
    return plus(now, price({work.messages, std::max(work.in, work.out)}, costs));
  }
  Femtoseconds later(Femtoseconds a, Femtoseconds b) const noexcept { return std::max(a, b); }
  Femtoseconds done(RoundOf, std::span<const Step> round, Femtoseconds now) const {
    return plus(now, price({.reduced = work_of(round, size_of).reduced}, costs));
  }
  void matched(RoundOf, RoundOf, Femtoseconds) const noexcept {}
};

/// Whether no rank waits for one that waits for it, directly or not: a topological sort, which
/// takes a rank once it has taken all ranks that send to it.
bool flows_one_way(std::span<const Schedule> schedules) {
  std::vector<std::vector<Rank>> receivers(schedules.size());
  std::vector<std::size_t> senders(schedules.size(), 0);
  for (std::size_t rank = 0; rank < schedules.size(); ++rank)
    for (std::size_t index = 0; index < schedules[rank].rounds(); ++index)
      for (const Step& step : schedules[rank].round(index)) {
        if (!step.has_peer() || step.kind() != Step::Kind::send) continue;
        receivers[rank].push_back(step.peer());
        ++senders[static_cast<std::size_t>(step.peer())];
      }
  std::vector<std::size_t> ready;
  for (std::size_t rank = 0; rank < senders.size(); ++rank)
    if (senders[rank] == 0) ready.push_back(rank);
  std::size_t taken = 0;
  for (; taken < ready.size(); ++taken)
    for (const Rank peer : receivers[ready[taken]])
      if (--senders[static_cast<std::size_t>(peer)] == 0)
        ready.push_back(static_cast<std::size_t>(peer));
  return taken == schedules.size();
}

Profile profile_flow(std::span<const Schedule> schedules, int size) {
  check_units(schedules);
  Profile profile;
  for (const Schedule& schedule : schedules) {
    profile.units = schedule.units();
    RoundWork sum;
    std::size_t rounds = 0;
    for (std::size_t index = 0; index < schedule.rounds(); ++index) {
      const std::span<const Step> round = schedule.round(index);
      const RoundWork work = work_of(round, units_in);
      rounds += std::ranges::any_of(round, &Step::has_peer) ? 1 : 0;
      sum.messages += work.messages;
      sum.in += work.in;
      sum.out += work.out;
      sum.stored += work.stored;
      sum.reduced += work.reduced;
    }
    profile.rounds = std::max(profile.rounds, rounds);
    // Segments overlap, so that one is received while another is sent.
    const Work own{sum.messages, std::max(sum.in, sum.out), sum.reduced, sum.in,
                   sum.stored,   sum.in + sum.out};
    profile.busiest = later_of(profile.busiest, own);
    profile.all = {profile.all.messages + own.messages, profile.all.moved + sum.in,
                   profile.all.reduced + own.reduced,   profile.all.received + sum.in,
                   profile.all.stored + own.stored,     profile.all.passed + own.passed};
  }
  if (schedules.size() == 1) {
    const std::int64_t alike = size;
    profile.all = {profile.all.messages * alike, profile.all.moved * alike,
                   profile.all.reduced * alike,  profile.all.received * alike,
                   profile.all.stored * alike,   profile.all.passed * alike};
  }
  CountUnits count;
  for (const Work& end : Flow<Work, CountUnits>{schedules, size, count}.run())
    profile.path = later_of(profile.path, end);
  // The run above has checked that all receivers are ranks.
  if (schedules.size() > 1) profile.one_way = flows_one_way(schedules);
  return profile;
}

Work repeated(const Work& work, std::int64_t often) noexcept {
  return {times(work.messages, often), times(work.moved, often),  times(work.reduced, often),
          times(work.received, often), times(work.stored, often), times(work.passed, often)};
}

/// The price of parts that overlap.
Femtoseconds longest_of(const Work& work, const LinkCosts& costs) noexcept {
  return std::max({times(work.messages, costs.alpha), times(work.moved, costs.beta),
                   times(work.reduced, costs.gamma)});
}

}  // namespace

Femtoseconds price(const Work& work, const LinkCosts& costs) noexcept {
  return plus(times(work.messages, costs.alpha),
              plus(times(work.moved, costs.beta), times(work.reduced, costs.gamma)));
}

Femtoseconds Profile::time(std::size_t bytes, std::size_t segment_bytes,
                           const LinkCosts& charged) const noexcept {
  LinkCosts costs = charged;
  std::int64_t segments = 1;
  if (segment_bytes > 0 && bytes > segment_bytes)
    segments = static_cast<std::int64_t>((bytes - 1) / segment_bytes + 1);
  const std::int64_t others = segments - 1;
  const std::int64_t whole = times(units, segments);
  const bool reads = costs.buffered_bytes > 0 && all.messages > 0 &&
                     share_of(bytes, all.moved, times(whole, all.messages)) > costs.buffered_bytes;
  if (reads && costs.gamma_read > 0) costs.gamma = costs.gamma_read;
  const auto read = costs.fuses ? &Work::stored : &Work::received;
  const auto size = reads ? read : costs.half_duplex ? &Work::passed : &Work::moved;
  const auto work = [&](const Work& units_of) {
    return Work{.messages = units_of.messages,
                .moved = share_of(bytes, units_of.*size, whole),
                .reduced = share_of(bytes, units_of.reduced, whole)};
  };
  // Over memory a rank does all of its work itself, also work that no other rank waits for.
  const Work first = costs.overlaps ? path : later_of(path, busiest);
  const Work rest = repeated(busiest, others);
  const Femtoseconds waiting = times(static_cast<std::int64_t>(rounds), costs.round);
  const bool is_stream = one_way && !reads && costs.shared_cores > 0;
  if (costs.overlaps) {
    // If data flows one way, calls overlap: a rank moves bytes of later calls while it waits.
    const Work lead = is_stream ? Work{.messages = first.messages,
                                       .moved = busiest.moved,
                                       .reduced = busiest.reduced,
                                       .passed = busiest.passed}
                                : first;
    return plus(waiting, plus(price(work(lead), costs), longest_of(work(rest), costs)));
  }
  const Femtoseconds longest =
      price(work({plus(first.messages, rest.messages), plus(first.moved, rest.moved),
                  plus(first.reduced, rest.reduced), plus(first.received, rest.received),
                  plus(first.stored, rest.stored), plus(first.passed, rest.passed)}),
            costs);
  if (costs.shared_cores == 0) return plus(waiting, longest);
  // Sender and receiver both copy, except bytes that are reduced as they arrive.
  const std::int64_t copied = all.passed - all.reduced;
  const std::int64_t moved = is_stream ? copied : reads && costs.fuses ? all.stored : all.moved;
  const Work together{times(all.messages, segments), share_of(bytes, moved, units),
                      share_of(bytes, all.reduced, units)};
  const Femtoseconds cores = price(together, costs) / costs.shared_cores;
  if (!is_stream) return plus(waiting, std::max(longest, cores));
  // A rank that gets a core serves all calls that have arrived meanwhile. Among choices with equal
  // work for the cores, the small last term prefers the one with less work in sequence.
  const Femtoseconds alone = price(work(repeated(busiest, segments)), costs);
  return plus(std::max(alone, cores), plus(alone, longest) / 1024);
}

Profile profile_of(const Choice& choice, int size, Rank root) {
  if (choice.algorithm->traits.rotational) {
    const Schedule first = choice.build(size, root, 0);
    return profile_flow({&first, 1}, size);
  }
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < size; ++rank) schedules.push_back(choice.build(size, root, rank));
  return profile_flow(schedules, size);
}

Profile profile_of(std::span<const Schedule> schedules) {
  return profile_flow(schedules, static_cast<int>(schedules.size()));
}

Femtoseconds predict_exact(std::span<const Schedule> schedules,
                           std::span<const std::size_t> block_bytes, std::size_t element_bytes,
                           const LinkCosts& costs) {
  if (schedules.empty()) return 0;
  check_units(schedules);
  const ByteOffsets offsets = offsets_of(schedules.front().units(), block_bytes, element_bytes);
  PriceBytes pricing{offsets, costs};
  const auto ends =
      Flow<Femtoseconds, PriceBytes>{schedules, static_cast<int>(schedules.size()), pricing}.run();
  return *std::max_element(ends.begin(), ends.end());
}

}  // namespace tutti::v0
