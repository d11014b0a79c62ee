#include "gradient_streams.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <utility>

#include <tutti/attempt.hpp>

#include "codec.hpp"

namespace tutti::v0::detail {
namespace {

/// The time for aborted work to end.
constexpr std::chrono::seconds kGrace{1};
/// The sleep between two tests of whether it has.
constexpr std::chrono::microseconds kNap{100};

[[noreturn]] void reject_gpu(const std::string& text) {
  throw Error{ErrorCode::invalid_argument, "GradientSync: " + text};
}

std::string described(std::span<const Parameter> arrays, std::size_t index) {
  return "parameter " + std::to_string(index) + " '" + arrays[index].name + "'";
}

void check_options(const GradientOptions& options) {
  if (!options.compression.empty()) {
    const Compression::Method method = parse_compression(options.compression).method;
    if (method != Compression::Method::f16 && method != Compression::Method::bf16)
      reject_gpu("GradientOptions::compression '" + options.compression +
                 "' does not exist on a GPU; choose f16 or bf16, or leave it out");
  }
  if (options.max_norm > 0)
    reject_gpu(
        "on a GPU gradients are used before ranks know their norm, so GradientOptions::max_norm "
        "does not exist; choose norm, and multiply gradients by max_norm / norm on the stream "
        "after wait");
  if (options.on_shard && options.check_finite)
    reject_gpu(
        "on a GPU on_shard is called before gradients can be checked, so "
        "GradientOptions::check_finite does not go with it; leave one of them out");
}

void check_stream(Communicator& world, Stream stream) {
  if (stream.is_own())
    reject_gpu(
        "GradientOptions::stream is the stream on which the program computes gradients; "
        "Stream::own() is none of the program's");
  const auto streams = streams_of(world);
  if (streams == nullptr)
    reject_gpu(
        "GradientOptions::stream needs a GPU, and none is attached to the communicator; call "
        "tutti::cuda::attach before");
  streams->check(stream, {}, {});
  if (streams->is_captured(stream))
    reject_gpu("GradientOptions::stream is captured in a graph, so what is enqueued does not run");
}

/// @return the arrays at Parameter::result.
std::vector<Parameter> results_of(std::span<const Parameter> parameters) {
  std::vector<Parameter> results{parameters.begin(), parameters.end()};
  for (Parameter& result : results) {
    result.data = result.result;
    result.name += "'s result";
  }
  return results;
}

}  // namespace

void check_on_device(Communicator& group, std::span<const Parameter> arrays, Stream stream) {
  const auto streams = streams_of(group);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Parameter& array = arrays[i];
    if (array.data == nullptr || array.count == 0) continue;
    if (!streams->is_on_device(array.data))
      reject_gpu(described(arrays, i) +
                 " lies in memory of the host; with GradientOptions::stream arrays lie in memory "
                 "of the GPU that is attached");
    const std::size_t bytes = array.count * size_of(array.type);
    const Result<void> outcome = attempt([&] {
      streams->check(stream, {}, {static_cast<std::byte*>(array.data), bytes});
    });
    if (!outcome) reject_gpu(described(arrays, i) + ": " + outcome.error().what());
  }
}

void check_streams(Communicator& world, std::span<const Parameter> parameters,
                   const GradientOptions& options) {
  if (options.stream.is_some()) {
    check_stream(world, options.stream);
    for (std::size_t i = 0; i < options.groups.size(); ++i)
      if (streams_of(*options.groups[i]) == nullptr)
        reject_gpu("no GPU is attached to group " + std::to_string(i + 1) +
                   "; make it of a communicator that has one");
    check_options(options);
    check_on_device(world, parameters, options.stream);
    check_on_device(world, results_of(parameters), options.stream);
    check_on_device(world, options.state, options.stream);
    return;
  }
  const auto streams = streams_of(world);
  for (std::size_t i = 0; streams != nullptr && i < parameters.size(); ++i)
    if (parameters[i].data != nullptr && streams->is_on_device(parameters[i].data))
      reject_gpu(
          described(parameters, i) +
          " lies in memory of a GPU; set GradientOptions::stream to the stream that computes it");
}

GradientStreams::GradientStreams(std::span<Communicator> groups, Stream program)
    : groups_{groups}, program_{program} {
  for (Communicator& group : groups_) transports_.push_back(streams_of(group));
  own_ = transports_.front()->own_stream();
}

/// Waits since enqueued work may use the memory of buckets.
GradientStreams::~GradientStreams() {
  const Clock::time_point begin = Clock::now();
  const Duration timeout = groups_.front().options().timeout;
  if (!is_aborted_) {
    const Result<void> outcome = attempt([&] { wait_for_stream(groups_.front(), own_, timeout); });
    if (outcome) return;
    abort(outcome.error());
  }
  const auto end = Clock::time_point{deadline_after(begin.time_since_epoch(), timeout)};
  drain(std::max(end, Clock::now() + kGrace));
}

/// Waits for aborted work. It ends, unless the program's stream never does. If even the mark fails,
/// nothing runs any more.
void GradientStreams::drain(Clock::time_point deadline) noexcept {
  static_cast<void>(attempt([&] {
    const std::unique_ptr<StreamMark> end = transports_.front()->mark(own_);
    while (!end->is_done() && Clock::now() < deadline) std::this_thread::sleep_for(kNap);
  }));
}

void GradientStreams::allocate(std::span<const std::size_t> bytes) {
  for (std::size_t group = 0; group < bytes.size(); ++group)
    memory_.push_back(bytes[group] == 0 ? nullptr
                                        : transports_[group]->allocate_registered(bytes[group]));
}

std::vector<Buffer<std::byte>> GradientStreams::divide(std::span<const std::uint32_t> groups,
                                                       std::span<const std::size_t> bytes) {
  std::vector<std::size_t> used(memory_.size());
  std::vector<Buffer<std::byte>> buckets;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::shared_ptr<std::byte>& memory = memory_[groups[i]];
    const std::size_t first = std::exchange(used[groups[i]], used[groups[i]] + padded(bytes[i]));
    std::shared_ptr<std::byte> part{memory, bytes[i] == 0 ? nullptr : memory.get() + first};
    buckets.emplace_back(std::move(part), bytes[i], are_seen());
  }
  marks_.clear();
  marks_.resize(groups.size());
  return buckets;
}

void GradientStreams::check_program() const {
  if (transports_.front()->is_captured(program_))
    throw Error{ErrorCode::invalid_argument,
                "GradientOptions::stream is captured in a graph, so no gradient is computed now"};
}

void GradientStreams::mark(std::size_t bucket) {
  marks_[bucket].reset();
  check_program();
  marks_[bucket] = transports_.front()->mark(program_);
}

bool GradientStreams::await_program(std::size_t bucket) {
  if (marks_[bucket] == nullptr) return false;
  transports_.front()->follow(own_, *marks_[bucket]);
  return true;
}

void GradientStreams::hold_program() {
  transports_.front()->follow(program_, own_);
}

void GradientStreams::wait(Duration timeout) {
  for (Communicator& group : groups_) wait_for_stream(group, program_, timeout);
}

/// Waits until the own stream is done. @param timeout zero: the communicator's.
void GradientStreams::wait_for_own(Duration timeout) {
  if (timeout == Duration{0}) timeout = groups_.front().options().timeout;
  for (Communicator& group : groups_) wait_for_stream(group, own_, timeout);
}

void GradientStreams::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  transports_.front()->copy(to, from, bytes, own_);
}

void GradientStreams::clear(std::byte* to, std::size_t bytes) {
  transports_.front()->clear(to, bytes, own_);
}

void GradientStreams::convert(const Conversion& work) {
  transports_.front()->convert(work, own_);
}

std::shared_ptr<std::byte> GradientStreams::allocate_scratch(std::size_t bytes) {
  const std::shared_ptr<StreamTransport>& transport = transports_.front();
  return {transport->allocate(bytes, own_),
          [transport, stream = own_](std::byte* data) { transport->deallocate(data, stream); }};
}

/// @return the memory of the sums, which are zero at first.
Inspected* GradientStreams::sums() {
  if (sums_ == nullptr) {
    sums_ = allocate_scratch(kInspectors * sizeof(Inspected));
    clear(sums_.get(), kInspectors * sizeof(Inspected));
  }
  return reinterpret_cast<Inspected*>(sums_.get());
}

void GradientStreams::inspect(Datatype type, const std::byte* data, std::size_t count,
                              bool with_hash, std::uint64_t seed) {
  transports_.front()->inspect({.type = type,
                                .with_hash = with_hash,
                                .count = count,
                                .seed = seed,
                                .data = data,
                                .sums = sums()},
                               own_);
}

/// Enqueues the copy only when the stream is done: a copy to memory that is not pinned may block
/// the host until the stream reaches it.
Inspected GradientStreams::inspected(Duration timeout) {
  wait_for_own(timeout);
  seen_.resize(kInspectors);
  const std::size_t bytes = seen_.size() * sizeof(Inspected);
  copy(reinterpret_cast<std::byte*>(seen_.data()), reinterpret_cast<const std::byte*>(sums()),
       bytes);
  clear(sums_.get(), bytes);
  wait_for_own(timeout);
  Inspected all;
  for (const Inspected& one : seen_) {
    all.squares += one.squares;
    all.not_finite += one.not_finite;
    all.hash += one.hash;
  }
  return all;
}

std::uint64_t GradientStreams::hash_of(std::span<const std::byte> bytes, Duration timeout) {
  check_program();
  transports_.front()->follow(own_, program_);
  inspect(Datatype::u8, bytes.data(), bytes.size(), true, 0);
  return inspected(timeout).hash;
}

void GradientStreams::abort(const Error& cause) noexcept {
  is_aborted_ = true;
  for (const auto& transport : transports_) transport->abort(cause);
}

}  // namespace tutti::v0::detail
