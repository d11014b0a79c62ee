#include "object_operation.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <tutti/spi/copy.hpp>

#include "collectives/binding/check_call.hpp"
#include "collectives/engine/engine.hpp"
#include "object_collective.hpp"
#include "object_message.hpp"

namespace tutti::v0 {

void ObjectCall::note_failure() {
  bytes.drop_object();
  problem = detail::words_of_exception();
}

namespace detail {
namespace {

/// Number of enumerators of ObjectCall::Kind.
constexpr int kKinds = 7;

std::size_t inline_bytes_of(ObjectCall::Kind kind, std::size_t ranks) noexcept {
  const bool has_one = kind == ObjectCall::Kind::broadcast || kind == ObjectCall::Kind::send ||
                       kind == ObjectCall::Kind::recv;
  return has_one || ranks <= kFewRanks ? kInlineBytes : kInlineBytesOfMany;
}

std::string words_of_wrong_count(std::size_t given, std::size_t expected, std::size_t ranks) {
  const std::string count = std::to_string(given) + (given == 1 ? " object was" : " objects were");
  if (expected == 0)
    return count +
           " given on a rank that gives none: only the root of a broadcast or a scatter, "
           "and the sender of a message give objects";
  if (expected == ranks)
    return count + " given for " + std::to_string(ranks) + " ranks: one for each is needed";
  return count + " given, and one is needed";
}

}  // namespace

std::shared_ptr<ObjectOperation> ObjectOperation::make(Engine& engine, ObjectCall call) {
  if (call.kind == ObjectCall::Kind::send || call.kind == ObjectCall::Kind::recv)
    return std::make_shared<ObjectMessage>(engine, std::move(call));
  return std::make_shared<ObjectCollective>(engine, std::move(call));
}

ObjectOperation::ObjectOperation(Engine& engine, std::uint64_t fingerprint, ObjectCall call)
    : engine_{engine}, call_{std::move(call)}, self_{engine.transport().self()},
      size_{static_cast<std::size_t>(engine.transport().size())}, inline_bytes_{inline_bytes_of(
                                                                      call_.kind, size_)},
      fingerprint_{fingerprint}, type_{call_.type} {
  check_enumerator(call_.name, "kind", static_cast<int>(call_.kind), kKinds);
  check_timeout(call_.name, call_.options.timeout);
  if (call_.problem.empty()) check_bytes();
}

ObjectOperation::~ObjectOperation() {
  engine_.payloads().give_back(call_.bytes.give_back());
  engine_.payloads().give_back(std::move(payload_));
}

std::string ObjectOperation::words() const {
  return std::string{call_.name} + " of " + type_;
}

ObjectReport ObjectOperation::report() const noexcept {
  const auto largest = std::max_element(call_.sizes.begin(), call_.sizes.end());
  return {.fingerprint = fingerprint_,
          .failed = call_.problem.empty() ? 0U : 1U,
          .most = call_.options.most_bytes,
          .largest = largest == call_.sizes.end() ? 0 : *largest};
}

/// Checks that the call can send its objects. A large object is encoded again, or copied if all its
/// bytes were kept.
void ObjectOperation::check_bytes() {
  const std::size_t given = std::accumulate(call_.sizes.begin(), call_.sizes.end(), std::size_t{0});
  const bool is_kept = !call_.bytes.is_counted() && call_.bytes.size() == given;
  if (!is_kept && !call_.again)
    throw Error{ErrorCode::invalid_argument,
                words() +
                    ": the call has no bytes of its object, and nothing to encode it again; "
                    "use ObjectCall::add_kept, or an Encoder that keeps all bytes"};
  if (is_kept && given > kStreamedBytes && call_.kind == ObjectCall::Kind::broadcast &&
      self_ == call_.root)
    call_.again = [this](Encoder& to) { to.write(call_.bytes.data(), call_.sizes[0]); };
}

void ObjectOperation::make_frames(std::size_t expected, std::size_t received) {
  if (call_.problem.empty() && call_.sizes.size() != expected)
    call_.problem = words_of_wrong_count(call_.sizes.size(), expected, size_);
  if (!call_.problem.empty()) call_.sizes.assign(expected, 0);
  const ObjectReport own = report();
  const std::byte* object = call_.bytes.data();
  sent_ = ObjectFrames{inline_bytes_, call_.sizes.size()};
  for (std::size_t i = 0; i < sent_.size(); ++i) {
    const std::size_t size = call_.sizes[i];
    sent_[i].report = own;
    sent_[i].size = size;
    if (size > 0 && bytes_beside(size) == 0) copy_bytes(sent_.payload(i), object, size);
    if (size > 0) object += size;  // no bytes may have no address
  }
  frames_ = ObjectFrames{inline_bytes_, received};
}

void ObjectOperation::start_clock() {
  Duration timeout = call_.options.timeout;
  if (timeout == Duration::zero()) timeout = engine_.options().timeout;
  deadline_ = deadline_after(engine_.transport().now(), timeout);
}

Duration ObjectOperation::time_left() const {
  return std::max(Duration{1}, deadline_ - engine_.transport().now());
}

Execution& ObjectOperation::acquire(const Call& call, const Options& options) {
  executions_.push_back(engine_.calls().acquire(call, options));
  return *executions_.back();
}

/// If a streamed object is being decoded while it arrives, the round ends after the decoding.
void ObjectOperation::advance() {
  if (!has_started_ && may_start_) start();
  if (!has_started_) return;
  while (!is_done_ && !is_decoding() && std::ranges::all_of(executions_, &Execution::done)) {
    drop();
    end_round();
  }
}

void ObjectOperation::drop() noexcept {
  for (Execution* const execution : executions_) engine_.calls().release(execution);
  executions_.clear();
}

/// An object that was decoded while it arrived is not kept.
void ObjectOperation::finish(bool has_own) {
  is_done_ = true;
  if (failure_ || has_own || end_) return;
  const std::byte* next = payload_.data.get();
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    const std::size_t beside = bytes_beside(frames_[i].size);
    received_.emplace_back(beside > 0 ? next : frames_.payload(i), frames_[i].size);
    next += beside;
  }
}

std::shared_ptr<const void> ObjectOperation::detach_bytes() {
  struct Received {
    ObjectFrames frames;  // with the small objects
    RawBytes payload;
  };
  return std::make_shared<Received>(
      Received{.frames = std::exchange(frames_, {}), .payload = std::exchange(payload_, {})});
}

std::size_t ObjectOperation::begin_decoding() noexcept {
  arrivals_->begin_decoding();
  return arrivals_->shape().object();
}

std::span<const std::byte> ObjectOperation::await(std::size_t from, std::size_t bytes) {
  engine_.failures().attempt([&] { arrivals_->expect(from, bytes); });
  engine_.progress().wait_until([this] { return arrivals_->done(); });
  return engine_.failures().attempt([&] { return arrivals_->read(from, bytes); });
}

/// Reads the outcome of the encoding before it releases the sender's memory.
void ObjectOperation::end_decoding() {
  if (!is_decoding()) return;
  const std::byte* const end = await(arrivals_->shape().object(), StreamShape::kEnd).data();
  engine_.failures().attempt([&] {
    end_ = StreamShape::problem_at(end);
    arrivals_->leave();
  });
}

}  // namespace detail
}  // namespace tutti::v0
