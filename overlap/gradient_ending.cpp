// The end of a step: what ranks agree on, compare and report.
#include <algorithm>
#include <array>
#include <cmath>

#include <tutti/attempt.hpp>

#include "bytes.hpp"
#include "gradient_state.hpp"

namespace tutti::v0 {

/// One small all_reduce has all that must be agreed.
struct GradientSync::State::Ending {
  static constexpr std::size_t kWords = 9;
  std::size_t ranks;
  std::vector<double> sums;

  explicit Ending(std::size_t n) : ranks{n}, sums(kWords + n) {}
  double& step() { return sums[0]; }
  double& step_squared() { return sums[1]; }
  double& problems() { return sums[2]; }
  double& not_finite() { return sums[3]; }
  double& active() { return sums[4]; }
  double& norm_squared() { return sums[5]; }
  double& callbacks() { return sums[6]; }
  double& hash() { return sums[7]; }  // of 32 bits on each rank, so it is exact
  double& cut_short() { return sums[8]; }
  /// By rank: seconds from where ranks last agreed to wait.
  std::span<double> arrivals() { return std::span{sums}.subspan(kWords, ranks); }
};

void GradientSync::State::end_step() {
  Communicator& world = groups_[0];
  Ending ending{static_cast<std::size_t>(world.size())};
  report_ = next_report_;
  awaited_.reset();
  prepare_reports();
  check_stream();
  agree_on_cut();
  read_findings();
  if (is_clipping()) clip();
  if (is_detecting()) {
    agree_on_used();
    keep_unused();
  }
  check_callbacks();
  if (is_every(options_.verify_every) && !is_cut_short_) {
    verify_gradients();
    for (const Parameter& array : options_.state)
      if (const auto other = difference_in(groups_[array.group], detail::bytes_of(array)))
        note_of(other->rank, [&] {
          return "'" + array.name + "' of GradientOptions::state differs: " + other->text;
        });
  }
  // Small, so that sums of squares are exact.
  const auto step = static_cast<double>(report_.step % (1U << 20));
  ending.step() = step;
  ending.step_squared() = step * step;
  ending.problems() = problem().empty() ? 0 : 1;
  ending.not_finite() = options_.check_finite ? findings_.not_finite : 0;
  ending.active() = is_active_ ? 1 : 0;
  ending.norm_squared() = findings_.squares;
  ending.hash() = findings_.hash;
  ending.cut_short() = is_cut_short_ ? 1 : 0;
  ending.callbacks() = options_.on_bucket || options_.on_shard ? 1 : 0;
  ending.arrivals()[static_cast<std::size_t>(world.rank())] =
      std::chrono::duration<double>(wait_began_ - synchronized_).count();
  world.all_reduce(ending.sums, sum, call_options());
  synchronized_ = Clock::now();
  const double size = world.size();
  const bool is_other_step = ending.step_squared() * size != ending.step() * ending.step();
  if (is_other_step)
    note_of(-1, [&] {
      return "ranks are at different steps; rank " + std::to_string(world.rank()) + " is at step " +
             std::to_string(report_.step);
    });
  const bool is_seen_too_early = ending.callbacks() > 0 && ending.active() < size;
  if (is_seen_too_early)
    note_of(-1, [] {
      return "on_bucket or on_shard has seen the mean of all ranks, of which not all took part; "
             "join is not for a GradientSync that has one of them on any rank";
    });
  const bool is_void_everywhere = is_other_step || is_seen_too_early;
  step_error_ = agreed_problem(is_void_everywhere ? size : ending.problems(), ending.not_finite());
  if (ending.cut_short() > 0) {  // ranks wait on their GPUs for each other
    abort_streams(*step_error_);
    return fail(*step_error_);
  }
  report_step(ending);
  if (is_every(options_.resync_every) && report_.active == world.size())
    broadcast_arrays(options_.state, 0);
  if (streams_) streams_->hold_program();
}

/// Allocates all memory before ranks agree on the outcome of the step.
void GradientSync::State::prepare_reports() {
  bucket_reports_.resize(flights_.size());
  is_recording_ = false;
  if (options_.record == 0) return;
  detail::StepTimes step;
  step.ready.resize(parameters_.size());
  step.buckets.resize(flights_.size());
  recorded_.push_back(std::move(step));
  if (recorded_.size() > options_.record) recorded_.pop_front();
  is_recording_ = true;
}

/// Before the host waits for a GPU, which would wait for what another rank has not enqueued.
void GradientSync::State::agree_on_cut() {
  const bool looks = detail::is_inspected(options_) || is_every(options_.verify_every);
  if (!streams_ || !looks) return;
  std::array<std::uint8_t, 1> cut{is_cut_short_ ? std::uint8_t{1} : std::uint8_t{0}};
  groups_[0].all_reduce(cut, max, call_options());
  is_cut_short_ = cut[0] != 0;
}

/// Only where somebody wants to know does the host wait for a GPU.
void GradientSync::State::read_findings() {
  if (!streams_) return add_findings();
  if (!detail::is_inspected(options_) || is_cut_short_) return;
  const Inspected seen = streams_->inspected(options_.timeout);
  findings_ = {.squares = seen.squares,
               .not_finite = static_cast<double>(seen.not_finite),
               .hash = static_cast<std::uint32_t>(seen.hash)};
}

/// What follows wait is to come after the reductions.
void GradientSync::State::check_stream() noexcept {
  if (!streams_ || is_cut_short_) return;
  const Result<void> outcome = detail::attempt([&] { streams_->check_program(); });
  is_cut_short_ = !outcome;
  if (!outcome) note_unmarked(outcome.error());
}

void GradientSync::State::report_step(Ending& ending) {
  report_.active = static_cast<int>(ending.active());
  report_.norm = std::sqrt(ending.norm_squared());
  if (options_.hash)  // the mean is over those that are active
    report_.hash = static_cast<std::uint32_t>(
        detail::mixed_bits(static_cast<std::uint64_t>(ending.hash() + ending.active())));
  if (options_.average && report_.active > 0 && report_.active < groups_[0].size()) {
    const double factor = static_cast<double>(groups_[0].size()) / report_.active;
    if (!step_error_) rescale(factor);
    report_.norm *= factor;
  }
  const std::span<double> arrivals = ending.arrivals();
  const auto [least, most] = std::ranges::minmax_element(arrivals);
  const double own = arrivals[static_cast<std::size_t>(groups_[0].rank())];
  const auto duration_of = [](double seconds) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>{seconds});
  };
  const Duration wait = Clock::now() - wait_began_;
  report_.last = static_cast<Rank>(most - arrivals.begin());
  report_.skew = duration_of(*most - *least);
  report_.waiting = std::min(duration_of(*most - own), wait);
  report_.computing = wait_began_ - step_began_;
  report_.exposed = wait - report_.waiting;
  report_.communicating -= communicating_within(wait_began_, wait_began_ + report_.waiting);
  for (std::size_t i = 0; i < flights_.size(); ++i)
    bucket_reports_[i] = {.begun = flights_[i].times.begun - step_began_,
                          .ended = flights_[i].times.ended - step_began_,
                          .bytes = memory_of(i).size()};
  const double busy = std::chrono::duration<double>(report_.communicating).count();
  const double exposed = std::chrono::duration<double>(report_.exposed).count();
  report_.hidden = busy > 0 ? std::clamp(1 - exposed / busy, 0.0, 1.0) : 1;
}

/// @return how long at least one bucket was under way between two times.
Duration GradientSync::State::communicating_within(Clock::time_point begin,
                                                   Clock::time_point end) const {
  Duration all{0};
  for (const std::size_t index : sequence_) {
    const detail::BucketTimes& times = flights_[index].times;
    const Clock::time_point from = std::max(times.begun, begin);
    const Clock::time_point to = std::min(times.ended, end);
    all += std::max(to, from) - from;
    begin = std::max(begin, to);
  }
  return all;
}

/// Each group for itself. Before callbacks see gradients.
void GradientSync::State::agree_on_used() {
  is_used_somewhere_.assign(parameters_.size(), 0);
  std::vector<std::uint8_t> used;
  for (std::uint32_t group = 0; group < groups_.size(); ++group) {
    used.clear();
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (parameters_[i].group == group) used.push_back(is_used_[i]);
    if (used.empty()) continue;
    groups_[group].all_reduce(used, max, call_options());
    auto next = used.begin();
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (parameters_[i].group == group) is_used_somewhere_[i] = *next++;
  }
}

/// Gradients that no rank uses stay as they are.
void GradientSync::State::keep_unused() {
  if (is_cut_short_) return;
  std::vector<std::size_t> used;
  for (const std::size_t bucket : sequence_) {
    used.clear();
    for (const std::size_t i : plan_.buckets[bucket].parameters) {
      if (is_used_somewhere_[i] != 0) {
        store(i);
        used.push_back(i);
      } else if (kept_[i]) {
        copy(place_of(i), kept_[i].get(), detail::bytes_of(parameters_[i]).size());
      }
    }
    if (!is_clipping() || verdict_.is_good) call_back(bucket, used);
  }
  for (auto& kept : kept_) kept.reset();
}

/// Where not all ranks take part the mean is over those that do.
void GradientSync::State::rescale(double factor) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    if (parameter.tied) continue;
    if (is_detecting() && is_used_somewhere_[i] == 0) continue;  // it stays as it is
    auto* const data = options_.storage == GradientStorage::views
                           ? place_of(i)
                           : static_cast<std::byte*>(parameter.data);
    if (streams_) {
      streams_->convert({.from_type = parameter.type,
                         .to_type = parameter.type,
                         .count = parameter.count,
                         .factor = factor,
                         .from = data,
                         .to = data});
      continue;
    }
    detail::scale(parameter.type, data, parameter.count, factor);
  }
}

void GradientSync::State::verify_gradients() {
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i) {
    const auto other = difference_in(ranks_of(i), memory_of(i));
    if (!other) continue;
    note_of(other->rank, [&] {
      std::string names;
      for (const std::size_t p : plan_.buckets[i].parameters)
        names += (names.empty() ? "'" : ", '") + parameters_[p].name + "'";
      return "ranks got different gradients in bucket " + std::to_string(i) + " (" + names +
             "): " + other->text;
    });
  }
}

}  // namespace tutti::v0
