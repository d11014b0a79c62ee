// The times of steps as a trace: the format of Chrome's "trace events", in JSON.
#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "agreement.hpp"
#include "gradient_state.hpp"

namespace tutti::inline v0 {
namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

/// A text within quotes.
std::string json_text(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') result += {'\\', c};
    else if (code >= 0x20) result += c;
    else result += {'\\', 'u', '0', '0', kDigits[code / 16], kDigits[code % 16]};
  }
  return result + "\"";
}

/// How far the clock of rank 0 is ahead of the own one: of some messages there and back, the
/// fastest ones tell it best (Cristian, "Probabilistic clock synchronization", 1989). All ranks
/// take part, one after the other.
Clock::duration shift_of_clock(Communicator& world, const Options& options) {
  constexpr int kTries = 8;
  constexpr int kTag = 0;
  Clock::duration shift{0};
  for (Rank rank = 1; rank < world.size(); ++rank) {
    Clock::duration best = Clock::duration::max();
    for (int i = 0; i < kTries; ++i) {
      std::array<std::int64_t, 1> time{};
      if (world.rank() == 0) {
        world.recv(time, rank, kTag, options);
        time[0] = Clock::now().time_since_epoch().count();
        world.send(time, rank, kTag, options);
      } else if (world.rank() == rank) {
        const Clock::time_point before = Clock::now();
        world.send(time, 0, kTag, options);
        world.recv(time, 0, kTag, options);
        const Clock::duration way = Clock::now() - before;
        if (way >= best) continue;
        best = way;
        shift = Clock::duration{time[0]} - (before + way / 2).time_since_epoch();
      }
    }
  }
  return shift;
}

/// Writes events of one rank, which is a process of the trace.
class Events {
 public:
  Events(Rank rank, Clock::duration shift) : rank_{rank}, shift_{shift} {
    name("process_name", 0, "rank " + std::to_string(rank));
    name("thread_name", kProgram, "program");
    name("thread_name", kReadiness, "gradients that are ready");
  }
  static constexpr int kProgram = 0;
  static constexpr int kReadiness = 1;
  static constexpr int kBuckets = 2;  // and those after it
  void name(std::string_view what, int thread, const std::string& text) {
    begin("M", what, thread) << R"(,"args":{"name":)" << json_text(text) << "}}";
  }
  void span(std::string_view text, int thread, Clock::time_point from, Clock::time_point to) {
    begin("X", text, thread) << ",\"ts\":" << microseconds(from)
                             << ",\"dur\":" << Microseconds{to - from}.count() << "}";
  }
  void instant(std::string_view text, int thread, Clock::time_point at) {
    begin("i", text, thread) << ",\"s\":\"t\",\"ts\":" << microseconds(at) << "}";
  }
  [[nodiscard]] std::string text() const { return stream_.str(); }

 private:
  [[nodiscard]] double microseconds(Clock::time_point time) const {
    return Microseconds{time.time_since_epoch() + shift_}.count();
  }
  std::ostream& begin(std::string_view kind, std::string_view text, int thread) {
    if (!is_first_) stream_ << ",\n";
    is_first_ = false;
    stream_ << std::fixed << R"({"ph":")" << kind << R"(","name":)" << json_text(text)
            << ",\"pid\":" << rank_ << ",\"tid\":" << thread;
    return stream_;
  }
  Rank rank_;
  Clock::duration shift_;
  bool is_first_ = true;
  std::ostringstream stream_{};
};

void add_step(Events& events, const detail::StepTimes& step, std::span<const Parameter> parameters,
              bool has_halves) {
  const std::string number = std::to_string(step.step);
  events.span("step " + number + ": computing", Events::kProgram, step.began, step.waited);
  events.span("step " + number + ": wait", Events::kProgram, step.waited, step.ended);
  for (std::size_t i = 0; i < step.ready.size(); ++i)
    if (step.ready[i] != Clock::time_point{})
      events.instant(parameters[i].name, Events::kReadiness, step.ready[i]);
  // Buckets that are under way at the same time lie in lines of their own.
  for (std::size_t i = 0; i < step.buckets.size(); ++i) {
    const detail::BucketTimes& times = step.buckets[i];
    const int line = Events::kBuckets + static_cast<int>(i % 8);
    const std::string text = "bucket " + std::to_string(i);
    if (!has_halves) {
      events.span(text, line, times.begun, times.ended);
      continue;
    }
    events.span(text + ", first half", line, times.begun, times.middle);
    events.span(text + ", second half", line, times.middle, times.ended);
  }
}

/// @return the middle one.
double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// What `tutti gradients` replays: the model, and when in a step gradients are ready.
std::string replay_of(const std::deque<detail::StepTimes>& steps,
                      std::span<const Parameter> parameters) {
  std::ostringstream text;
  std::vector<double> computing;
  for (const detail::StepTimes& step : steps)
    computing.push_back(Microseconds{step.waited - step.began}.count());
  text << std::fixed << "{\"compute_us\":" << median(computing) << ",\"parameters\":[";
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    std::vector<double> ready;
    for (const detail::StepTimes& step : steps)
      if (step.ready[i] != Clock::time_point{})
        ready.push_back(Microseconds{step.ready[i] - step.began}.count());
    text << (i == 0 ? "\n" : ",\n") << "{\"name\":" << json_text(parameters[i].name)
         << ",\"count\":" << parameters[i].count << ",\"rows\":" << parameters[i].rows
         << ",\"type\":" << json_text(name_of(parameters[i].type))
         << ",\"ready_us\":" << (ready.empty() ? median(computing) : median(ready)) << "}";
  }
  return text.str() + "]}";
}

Result<void> write_file(const std::string& path, const std::string& text) {
  std::ofstream file{path, std::ios::binary | std::ios::trunc};
  file << text;
  file.close();
  if (file) return {};
  return Error{ErrorCode::transport, "GradientSync: cannot write the trace to " + path};
}

}  // namespace

void GradientSync::State::record_step() {
  if (!record_.is_wanted()) return;
  detail::StepTimes step{
      .step = report_.step, .began = step_began_, .waited = wait_began_, .ended = Clock::now()};
  for (const Flight& flight : flights_) step.buckets.push_back(flight.times);
  record_.keep(std::move(step));
}

void GradientSync::State::write_trace(const std::string& path) {
  check_failure();
  Communicator& world = groups_[0];
  const Clock::duration shift = shift_of_clock(world, call_options());
  Events events{world.rank(), shift};
  for (const detail::StepTimes& step : record_.steps())
    add_step(events, step, parameters_, !seconds_.empty());
  const std::string own = events.text();
  const Gathered<char> all = world.all_gatherv(own, with_counts, call_options());
  Result<void> outcome;
  if (world.rank() == 0) {
    std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
    for (Rank rank = 0; rank < world.size(); ++rank)
      text += (rank == 0 ? "" : ",\n") + std::string{all[rank].begin(), all[rank].end()};
    text += "\n],\n\"tutti\":" + replay_of(record_.steps(), parameters_) + "}\n";
    outcome = write_file(path, text);
  }
  detail::agree(world, outcome, options_.timeout);
}

}  // namespace tutti::inline v0
