#include "print_picture.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "selector/predict_flow.hpp"

namespace tutti::v0 {
namespace {

/// Counts steps: each round takes one, unless it only marks slots as complete.
struct CountSteps {
  struct Round {
    int start = 0;
    int busy = 0;
    int end = 0;
  };
  struct Match {
    RoundOf from;
    RoundOf to;
  };
  std::vector<std::vector<Round>> rounds{};
  std::vector<Match> matches{};

  int busy(RoundOf at, std::span<const Step> round, int now) {
    const bool takes_time = std::any_of(round.begin(), round.end(), [](const Step& step) {
      return step.kind() != Step::Kind::finish;
    });
    const int busy = now + (takes_time ? 1 : 0);
    rounds[static_cast<std::size_t>(at.rank)].push_back({now, busy, busy});
    return busy;
  }
  static int later(int a, int b) noexcept { return std::max(a, b); }
  int done(RoundOf at, std::span<const Step>, int now) {
    of(at).end = now;
    return now;
  }
  void matched(RoundOf from, RoundOf to, int) { matches.push_back({from, to}); }

  [[nodiscard]] Round& of(RoundOf at) {
    return rounds[static_cast<std::size_t>(at.rank)][at.index];
  }
};

/// The units of a message, in words. Adjacent runs are joined.
std::string label_of(const Printed& printed, std::span<const Step> round, Rank peer) {
  const std::uint32_t units = printed.schedules.front().units();
  const auto ranks = static_cast<std::uint32_t>(printed.schedules.size());
  if (units == 1) return {};
  std::vector<Slots> runs;
  std::uint64_t total = 0;
  for (const Step& step : round) {
    if (step.kind() != Step::Kind::send || step.peer() != peer) continue;
    const Slots slots = step.slots();
    total += slots.count;
    if (!runs.empty() && runs.back().space == slots.space &&
        runs.back().first + runs.back().count == slots.first)
      runs.back().count += slots.count;
    else runs.push_back(slots);
  }
  std::string label;
  for (const Slots& run : runs) {
    const std::uint32_t first = run.first % units;
    if (!label.empty()) label += ",";
    if (is_between_pairs(printed.collective) && run.count == 1 && units == ranks * ranks)
      label += std::to_string(first / ranks) + ">" + std::to_string(first % ranks);
    else label += std::to_string(first);
    if (run.count > 1) label += ".." + std::to_string(first + run.count - 1);
  }
  constexpr std::size_t kLongest = 9;
  return label.size() <= kLongest ? label : counted(total, "unit");
}

bool is_reduced(std::span<const Step> round, Rank peer) {
  return std::any_of(round.begin(), round.end(), [peer](const Step& step) {
    return step.kind() == Step::Kind::recv_reduce && step.peer() == peer;
  });
}

/// Draws messages past the last rank, as on a ring, if every rank sends one over the same distance.
/// With more than two distances in a step, the picture would have too many ends of arrows.
void wrap(Picture& picture) {
  const auto offset = [&picture](const Arrow& arrow) {
    return (arrow.to - arrow.from + picture.ranks) % picture.ranks;
  };
  std::map<int, std::map<int, int>> counts;  // by step and offset
  for (const Arrow& arrow : picture.arrows) ++counts[arrow.start][offset(arrow)];
  constexpr std::size_t kMostOffsets = 2;
  for (Arrow& arrow : picture.arrows) {
    const auto& step = counts[arrow.start];
    arrow.wraps = picture.ranks > 2 && step.size() <= kMostOffsets &&
                  step.at(offset(arrow)) == picture.ranks &&
                  2 * std::abs(arrow.to - arrow.from) > picture.ranks;
  }
}

void add_marks(Picture& picture, Rank rank, int step, std::span<const Step> round) {
  std::set<Mark::WorkType> kinds;
  for (const Step& s : round) {
    if (s.kind() == Step::Kind::recv_reduce) kinds.insert(Mark::WorkType::combine);
    if (s.kind() == Step::Kind::reduce) kinds.insert(Mark::WorkType::local_reduce);
    if (s.kind() == Step::Kind::copy) kinds.insert(Mark::WorkType::copy);
    if (s.kind() == Step::Kind::finish) kinds.insert(Mark::WorkType::finish);
  }
  for (const Mark::WorkType kind : kinds) picture.marks.push_back({kind, rank, step});
}

/// The most that a rank sends, such as "1.75 of the vector".
std::string volume_of(const Printed& printed) {
  const std::span<const Schedule> schedules = printed.schedules;
  std::uint64_t most = 0;
  for (const Schedule& schedule : schedules) {
    std::uint64_t sent = 0;
    for (const Step& step : schedule.steps())
      if (step.kind() == Step::Kind::send) sent += step.slots().count;
    most = std::max(most, sent);
  }
  // In an all_to_all a rank has only one row of blocks.
  const bool has_row = is_between_pairs(printed.collective);
  const std::uint64_t units = schedules.front().units() / (has_row ? schedules.size() : 1);
  const std::uint64_t hundredths = (most * 100 + units / 2) / units;
  std::string text = std::to_string(hundredths / 100);
  if (const std::uint64_t rest = hundredths % 100; rest != 0)
    text += (rest < 10 ? ".0" : ".") + std::to_string(rest % 10 == 0 ? rest / 10 : rest);
  return text + (has_row ? " of its vector" : " of the vector");
}

/// Whether a rank sends too many messages in one step, so that labels would overlap.
bool labels_crowd(const Picture& picture) {
  constexpr int kMostAtOnce = 4;
  std::map<std::pair<Rank, int>, int> counts;
  for (const Arrow& arrow : picture.arrows)
    if (++counts[{arrow.from, arrow.start}] > kMostAtOnce) return true;
  return false;
}

void add_titles(Picture& picture, const Printed& printed) {
  picture.title = printed.algorithm + " " + std::string{name_of(printed.collective)} + " on " +
                  counted(printed.schedules.size(), "rank");
  if (is_rooted(printed.collective)) picture.title += ", root " + std::to_string(printed.root);
  std::size_t rounds = 0;
  for (const Schedule& schedule : printed.schedules) rounds = std::max(rounds, schedule.rounds());
  picture.subtitle = counted(rounds, "round") + ", " + counted(picture.arrows.size(), "message") +
                     "; a rank sends at most " + volume_of(printed);
  const std::uint32_t units = printed.schedules.front().units();
  if (units == 1) picture.subtitle += "; each message is the whole vector";
  else if (printed.only || !labels_crowd(picture))
    picture.subtitle += is_between_pairs(printed.collective)
                            ? "; labels name the blocks sent, from>to"
                            : "; labels name the units sent, 0.." + std::to_string(units - 1);
}

}  // namespace

int distance_of(const Arrow& arrow, int ranks) noexcept {
  const int direct = arrow.to - arrow.from;
  if (!arrow.wraps) return direct;
  return direct > 0 ? direct - ranks : direct + ranks;
}

Picture picture_of(const Printed& printed) {
  const std::span<const Schedule> schedules = printed.schedules;
  if (schedules.empty())
    throw Error{ErrorCode::invalid_argument, "a picture needs the schedule of at least one rank"};
  check_units(schedules);
  Picture picture{.ranks = static_cast<int>(schedules.size())};
  CountSteps steps;
  steps.rounds.resize(schedules.size());
  for (const int end : Flow<int, CountSteps>{schedules, picture.ranks, steps, Pace::strict}.run())
    picture.steps = std::max(picture.steps, end);
  for (const auto& [from, to] : steps.matches) {
    const CountSteps::Round sent = steps.of(from);
    picture.arrows.push_back(
        {.from = from.rank,
         .to = to.rank,
         .start = sent.start,
         .end = std::max(sent.busy, steps.of(to).busy),
         .reduces =
             is_reduced(schedules[static_cast<std::size_t>(to.rank)].round(to.index), from.rank),
         .label = label_of(
             printed, schedules[static_cast<std::size_t>(from.rank)].round(from.index), to.rank)});
  }
  for (Rank rank = 0; rank < picture.ranks; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    for (std::size_t index = 0; index < schedules[r].rounds(); ++index)
      add_marks(picture, rank, steps.rounds[r][index].end, schedules[r].round(index));
  }
  wrap(picture);
  add_titles(picture, printed);
  if (!printed.only && labels_crowd(picture))
    for (Arrow& arrow : picture.arrows) arrow.label.clear();
  return picture;
}

}  // namespace tutti::v0
