#include "perf/sweep/runs.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include <tutti/spi/communicator.hpp>

#include "perf/sweep/rounds.hpp"

namespace tutti::perf {

namespace {

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// Keeps the processor busy, as a slower algorithm would.
void spin(double duration_us) {
  const auto start = Clock::now();
  while (us_since(start) < duration_us) {
  }
}

// Memory that NCCL requires all ranks to allocate together, with equal sizes. So each rank
// allocates the size of the largest buffer.
Allocate memory_of_gpus(Communicator& communicator) {
  return [&communicator](std::size_t bytes) {
    std::array<double, 1> most{static_cast<double>(bytes)};
    max_over_ranks(communicator, most);
    return streams_of(communicator)->allocate_registered(static_cast<std::size_t>(most[0]));
  };
}

Allocate memory_of(const Setting& setting) {
  Communicator& communicator = setting.world.communicator();
  if (setting.world.gpu() != nullptr) return memory_of_gpus(communicator);
  if (setting.options.buffers != "visible") return allocate_private;
  return [&communicator](std::size_t bytes) {
    const auto buffer =
        std::make_shared<Buffer<std::byte>>(communicator.allocate<std::byte>(bytes));
    return std::shared_ptr<std::byte>{buffer, buffer->data()};
  };
}

// Memory for further arrays of the host, placed like outputs.
Allocate placed_memory_of(const Setting& setting) {
  const Allocate allocate = memory_of(setting);
  if (setting.world.gpu() != nullptr) return allocate;
  return [allocate, offset = setting.options.array_alignment().out_offset()](std::size_t bytes) {
    return allocate_at(allocate, bytes, offset);
  };
}

// Number of elements whose bits differ.
std::size_t differing(const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                      std::size_t element_bytes) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < a.size(); at += element_bytes)
    count += std::memcmp(a.data() + at, b.data() + at, element_bytes) != 0 ? 1 : 0;
  return count;
}

}  // namespace

Runs::Runs(const Setting& setting, const Workload& workload, std::vector<Measured>& entries)
    : world_{setting.world}, setting_{setting}, workload_{workload}, entries_{entries},
      gpu_{world_.gpu()}, allocate_{memory_of(setting)}, allocate_more_{placed_memory_of(setting)},
      mockups_(entries.size()), graphs_(entries.size()) {
  allocate_buffers();
}

void Runs::allocate_buffers() {
  std::vector<std::string> known;
  for (const Measured& entry : entries_) {
    const Alignment alignment = setting_.options.array_alignment(entry.candidate.align);
    const auto found = std::ranges::find(known, alignment.text());
    used_.push_back(static_cast<std::size_t>(found - known.begin()));
    if (found != known.end()) continue;
    known.push_back(alignment.text());
    buffers_.push_back(
        std::make_unique<Buffers>(workload_, communicator().rank(), alignment, allocate_, gpu_));
  }
}

void Runs::prepare(std::size_t i) {
  Measured& entry = entries_[i];
  switch (entry.candidate.kind) {
    case CandidateType::native: return prepare_native(i);
    case CandidateType::mockup: return prepare_mockup(i);
    case CandidateType::probe:
      entry.runs = "probe";
      if (!probe_) probe_.emplace(workload_, communicator());
      return;
    case CandidateType::forced:
    case CandidateType::automatic: return prepare_ours(i);
  }
}

// The answer may depend on the position of a rank's own block, so one refusal counts for all ranks.
bool Runs::is_so_everywhere(bool here) {
  std::array<double, 1> lacking{here ? 0.0 : 1.0};
  max_over_ranks(communicator(), lacking);
  return lacking[0] == 0;
}

void Runs::prepare_native(std::size_t i) {
  Measured& entry = entries_[i];
  entry.runs = "native";
  const bool has = std::ranges::all_of(
      buffers(i).native_calls(), [this](const Call& call) { return world_.has_native(call); });
  if (!is_so_everywhere(has))
    entry.refused =
        world_.library_in_words() + " has no such call for these buffers, datatype and operator";
}

void Runs::prepare_mockup(std::size_t i) {
  Measured& entry = entries_[i];
  entry.runs = entry.candidate.label;
  const bool is_native = world_.has_library() && !setting_.own_calls;
  mockups_[i] = std::make_unique<Mockup>(
      *entry.candidate.rule, workload_, buffers(i).calls().front(), allocate_more_,
      MockupWorlds{world_, setting_.fewer, is_native, setting_.options.determinism});
  if (!is_so_everywhere(mockups_[i]->can_run()))
    entry.refused =
        world_.library_in_words() + " has no such call for these buffers, datatype and operator";
}

void Runs::prepare_ours(std::size_t i) {
  Measured& entry = entries_[i];
  try {
    for (const Call& call : buffers(i).calls()) {
      const Plan plan = communicator().plan().run(call, options_of(i));
      entry.runs = plan.algorithm();
      entry.segment_bytes = gpu_ == nullptr ? plan.segment() : 0;
    }
    if (!is_collective(workload_)) entry.runs = name_of(workload_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    entry.refused = error.what();
  }
}

bool Runs::gives_results(std::size_t i) const {
  const Candidate& candidate = entries_[i].candidate;
  return candidate.kind != CandidateType::probe &&
         (candidate.rule == nullptr || !candidate.rule->leaves_last_out);
}

Options Runs::options_of(std::size_t i) {
  Options options{.visible = setting_.options.buffers == "visible",
                  .determinism = setting_.options.determinism,
                  .stream = gpu_ == nullptr ? Stream{} : gpu_->stream(),
                  .counts = buffers(i).counts()};
  const Candidate& candidate = entries_[i].candidate;
  if (candidate.kind == CandidateType::automatic) return options;
  options.algorithm = candidate.choice;
  // Without --determinism, a named algorithm runs at any level.
  if (!options.determinism) options.determinism = Determinism::fast;
  options.segment = candidate.segment != 0 ? candidate.segment : setting_.options.segment;
  return options;
}

void Runs::invoke(std::size_t i) {
  const CandidateType kind = entries_[i].candidate.kind;
  if (kind == CandidateType::mockup) return mockups_[i]->run();
  if (kind == CandidateType::probe) return probe_->run();
  if (kind == CandidateType::native) {
    for (const Call& call : buffers(i).native_calls()) world_.native(call);
    return;
  }
  for (const Call& call : buffers(i).calls()) communicator().run(call, options_of(i));
}

void Runs::invoke_or_replay(std::size_t i) {
  if (graphs_[i]) graphs_[i]();
  else invoke(i);
}

void Runs::wait() {
  if (gpu_ != nullptr) gpu_->wait();
}

void Runs::spoil(std::size_t i) {
  buffers(i).poison();
  buffers(i).refresh();
  communicator().barrier();
}

double Runs::run_anew(std::size_t i) {
  spoil(i);
  const auto start = Clock::now();
  invoke(i);
  wait();
  return us_since(start);
}

void Runs::capture(std::size_t i) {
  graphs_[i] = gpu_->capture([this, i] { invoke(i); });
}

Check Runs::check_replay(std::size_t i) {
  const std::vector<std::byte> direct = buffers(i).output();
  spoil(i);
  graphs_[i]();
  wait();
  Check result = buffers(i).check();
  result.wrong =
      std::max(result.wrong, differing(direct, buffers(i).output(), size_of(workload_.type)));
  return result;
}

void Runs::refresh(std::size_t i) {
  if (!setting_.options.touch) return;
  if (entries_[i].candidate.kind == CandidateType::probe) return probe_->refresh();
  buffers(i).refresh();
}

// The start of a sample. It is the same for the MPI's calls: ranks leave a barrier one after the
// other, and each library has its own order. A library whose barrier lets the root of a broadcast
// leave first would show a shorter call.
void Runs::line_up() {
  communicator().barrier();
  if (setting_.options.is_isolated()) spin(kPause_us);
}

double Runs::sample(std::size_t i) {
  invoke_or_replay(i);
  wait();
  refresh(i);
  line_up();
  const double time_us = timed_us(i);
  if (setting_.options.touch)
    kept_ = entries_[i].candidate.kind == CandidateType::probe ? probe_->read() : buffers(i).read();
  return time_us;
}

// On a stream, the time that is added on purpose comes before the last event.
double Runs::timed_us(std::size_t i) {
  const double inject = entries_[i].candidate.inject;
  const auto start = Clock::now();
  const auto run = [&] {
    for (std::int64_t k = 0; k < entries_[i].batch; ++k) invoke_or_replay(i);
    if (inject <= 0) return;
    wait();
    spin(us_since(start) * inject);
  };
  if (gpu_ != nullptr) return gpu_->time_us(run);
  run();
  return us_since(start);
}

}  // namespace tutti::perf
