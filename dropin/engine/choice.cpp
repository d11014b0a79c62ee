#include "dropin/engine/choice.hpp"

#include <algorithm>
#include <bit>

namespace tutti::dropin {
namespace {

// The first call of each runner in a round prepares the others, and does not count.
constexpr std::uint32_t kShortSamples = 24;
constexpr std::uint32_t kLongSamples = 12;
constexpr std::size_t kLongBytes = 32 << 10;
// Calls of tutti before the first round, in which it gets its own memory. Each call of a page or
// more touches new pages of it, until it has touched all of a queue between two ranks.
constexpr std::size_t kWarmUp = 10;
constexpr std::size_t kPage = 4 << 10;
constexpr std::size_t kQueue = 512 << 10;
constexpr std::uint32_t kFirstPause = 2000;
constexpr std::uint32_t kFirstPauseOfLong = 250;
constexpr std::uint32_t kLongestPause = 1 << 28;
constexpr std::uint32_t kLonger = 4;

// The MPI must be faster by this, or noise would choose it.
constexpr double kFaster = 0.95;

// Interrupted calls and those that touch memory first are longer, so the quick ones tell more than
// the median.
double lower_quartile_but_first(std::vector<double>& seconds) {
  seconds.erase(seconds.begin());
  const auto quarter = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 4);
  std::nth_element(seconds.begin(), quarter, seconds.end());
  return *quarter;
}

// Many MPIs let ranks have more room than they get, and programs give such calls a buffer for the
// longest text. Ranks must choose alike for them too, so all of less than 8 KiB are similar.
constexpr std::size_t kLeastRoom = 4 << 10;
bool allows_room(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::gather ||
         collective == Collective::scatter || collective == Collective::all_gather;
}

// Unknown sizes may be such ones.
std::uint32_t warm_up_of(std::optional<std::size_t> bytes) {
  const std::size_t known = bytes.value_or(kPage);
  return static_cast<std::uint32_t>(known < kPage ? kWarmUp : std::max(kWarmUp, kQueue / known));
}

bool is_long(std::optional<std::size_t> bytes) {
  return bytes.value_or(0) >= kLongBytes;
}

// Programs alternate too, as between two sizes, so that strict turns could give each runner one of
// them. This is the sequence of Thue and Morse: in each pair of calls both have one.
Runner runner_of(std::size_t call) {
  return std::popcount(call) % 2 == 0 ? Runner::tutti : Runner::mpi;
}

}  // namespace

Choice::Choice(std::optional<std::size_t> bytes) noexcept
    : pause_{warm_up_of(bytes)}, next_pause_{is_long(bytes) ? kFirstPauseOfLong : kFirstPause},
      samples_{is_long(bytes) ? kLongSamples : kShortSamples} {}

Choice::Turn Choice::begin() noexcept {
  if (is_open_) return {runner_of(seconds_[0].size() + seconds_[1].size()), true};
  if (pause_ > 0) --pause_;
  return {chosen_, false};
}

void Choice::end(Runner runner, std::chrono::duration<double> time, MPI_Comm comm) {
  seconds_[static_cast<std::size_t>(runner)].push_back(time.count());
  if (seconds_[0].size() + seconds_[1].size() == samples_) decide(comm);
}

void Choice::decide(MPI_Comm comm) {
  std::array<double, kRunners> own{}, slowest{};
  for (std::size_t i = 0; i < kRunners; ++i) {
    own[i] = lower_quartile_but_first(seconds_[i]);
    seconds_[i].clear();
  }
  PMPI_Allreduce(own.data(), slowest.data(), kRunners, MPI_DOUBLE, MPI_MAX, comm);
  chosen_ = slowest[1] < kFaster * slowest[0] ? Runner::mpi : Runner::tutti;
  is_open_ = false;
  pause_ = next_pause_;
  next_pause_ = std::min(next_pause_ * kLonger, kLongestPause);
}

Choice& Choices::of(const SimilarCalls& calls) {
  auto& of_collective = choices_[static_cast<std::size_t>(calls.collective)];
  if (!of_collective) of_collective = std::make_unique<OfCollective>();
  const std::size_t least = allows_room(calls.collective) ? kLeastRoom : 0;
  std::optional<std::size_t> bytes{};  // the power of two that similar calls have in common
  if (calls.bytes) bytes = std::bit_floor(std::max(*calls.bytes, least));
  auto& choice =
      (*of_collective)[bytes ? static_cast<std::size_t>(std::bit_width(*bytes)) : kSizes - 1];
  if (!choice) choice = std::make_unique<Choice>(bytes);
  return *choice;
}

void Choices::open_rounds() noexcept {
  for (const auto& of_collective : choices_) {
    if (!of_collective) continue;
    for (const auto& choice : *of_collective)
      if (choice) choice->open_round();
  }
}

}  // namespace tutti::dropin
