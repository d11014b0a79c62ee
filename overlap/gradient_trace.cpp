// The times of steps as a trace: the format of Chrome's "trace events", in JSON.
#include <algorithm>
#include <array>
#include <string_view>

#include <nlohmann/json.hpp>
#include <tutti/attempt.hpp>
#include <tutti/call_name.hpp>

#include "base/all_or_none.hpp"
#include "base/json_text.hpp"
#include "base/write_file.hpp"
#include "gradient_state.hpp"

namespace tutti::v0 {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;
using Microseconds = std::chrono::duration<double, std::micro>;

/// @return the time by which the clock of rank 0 is ahead of the own one. The fastest of several
/// round trips measures it best (Cristian, "Probabilistic clock synchronization", 1989).
/// Collective.
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
        const Clock::duration round_trip = Clock::now() - before;
        if (round_trip >= best) continue;
        best = round_trip;
        shift = Clock::duration{time[0]} - (before + round_trip / 2).time_since_epoch();
      }
    }
  }
  return shift;
}

/// Events of one rank, which is a process of the trace.
class Events {
 public:
  Events(Rank rank, Clock::duration shift) : rank_{rank}, shift_{shift} {
    name("process_name", 0, "rank " + std::to_string(rank));
    name("thread_name", kProgram, "program");
    name("thread_name", kReadiness, "gradients that are ready");
  }
  static constexpr int kProgram = 0;
  static constexpr int kReadiness = 1;
  static constexpr int kBuckets = 2;  // the first line of buckets
  void name(const std::string& what, int thread, const std::string& text) {
    add("M", what, thread, {{"args", {{"name", text}}}});
  }
  void span(const std::string& text, int thread, Clock::time_point from, Clock::time_point to) {
    add("X", text, thread, {{"ts", microseconds(from)}, {"dur", Microseconds{to - from}.count()}});
  }
  void instant(const std::string& text, int thread, Clock::time_point at) {
    add("i", text, thread, {{"s", "t"}, {"ts", microseconds(at)}});
  }
  [[nodiscard]] std::string text() const { return detail::text_of_json(events_); }

 private:
  [[nodiscard]] double microseconds(Clock::time_point time) const {
    return Microseconds{time.time_since_epoch() + shift_}.count();
  }
  void add(const char* kind, const std::string& text, int thread, Json event) {
    event.update({{"ph", kind}, {"name", text}, {"pid", rank_}, {"tid", thread}});
    events_.push_back(std::move(event));
  }
  Rank rank_;
  Clock::duration shift_;
  Json events_ = Json::array();
};

void add_step(Events& events, const detail::StepTimes& step, std::span<const Parameter> parameters,
              bool has_halves) {
  const std::string number = std::to_string(step.step);
  events.span("step " + number + ": computing", Events::kProgram, step.began, step.waited);
  events.span("step " + number + ": wait", Events::kProgram, step.waited, step.ended);
  for (std::size_t i = 0; i < step.ready.size(); ++i)
    if (step.ready[i] != Clock::time_point{})
      events.instant(parameters[i].name, Events::kReadiness, step.ready[i]);
  // Buckets that are reduced at the same time have lines of their own.
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

/// @return the median.
double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// @return the input of `tutti gradients`: the model, and the times in a step at which gradients
/// are ready. A parameter is ready with the last one tied to it. @param owners see GradientPlan.
Json replay_of(const std::deque<detail::StepTimes>& steps, std::span<const Parameter> parameters,
               std::span<const std::size_t> owners) {
  std::vector<double> computing;
  for (const detail::StepTimes& step : steps)
    computing.push_back(Microseconds{step.waited - step.began}.count());
  Json list = Json::array();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].tied) continue;
    std::vector<double> ready;
    for (const detail::StepTimes& step : steps) {
      Clock::time_point last{};
      for (std::size_t name = i; name < owners.size(); ++name)
        if (owners[name] == i) last = std::max(last, step.ready[name]);
      if (last != Clock::time_point{}) ready.push_back(Microseconds{last - step.began}.count());
    }
    list.push_back({{"name", parameters[i].name},
                    {"count", parameters[i].count},
                    {"rows", parameters[i].rows},
                    {"type", name_of(parameters[i].type)},
                    {"ready_us", median(ready.empty() ? computing : ready)}});
  }
  return {{"compute_us", median(computing)}, {"parameters", list}};
}

/// @param events of each rank, an array in JSON. @param replay see replay_of. Throws Error.
void write_trace_file(const std::string& path, std::span<const std::string> events,
                      const Json& replay) {
  std::string list;
  for (const std::string& text : events) {
    const std::string_view inside = std::string_view{text}.substr(1, text.size() - 2);
    if (!list.empty() && !inside.empty()) list += ',';
    list += inside;
  }
  const std::string trace = R"({"displayTimeUnit":"ms","traceEvents":[)" + list + R"(],"tutti":)" +
                            detail::text_of_json(replay) + "}\n";
  detail::write_text_file(path, trace, "GradientSync: the trace: ");
}

}  // namespace

void GradientSync::write_trace(const std::string& path) {
  const State::Call state{state_};
  const CallName name{"write_trace"};
  state->run_between_steps("write_trace", [&] {
    detail::SyncSetup& setup = state->setup_;
    Communicator& world = setup.all_ranks();
    const Options options = setup.call_options();
    const std::deque<detail::StepTimes>& steps = state->reporter_.recorded();
    Events events{world.rank(), shift_of_clock(world, options)};
    for (const detail::StepTimes& step : steps)
      add_step(events, step, setup.parameters, !setup.seconds.empty());
    const std::vector<std::string> all =
        detail::gather_texts(world, events.text(), options.timeout);
    setup.all_or_none([&] {
      if (world.rank() == 0)
        write_trace_file(path, all,
                         replay_of(steps, setup.parameters, state->buckets_.plan().owners));
    });
  });
}

}  // namespace tutti::v0
