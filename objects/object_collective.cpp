#include "object_collective.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

#include <tutti/call_name.hpp>

#include "algorithms/hash.hpp"
#include "collectives/engine/engine.hpp"

namespace tutti::v0::detail {
namespace {

/// @return a call whose elements are records of opaque bytes. @param bytes of a record.
template <class Given, class Received>
Call call_on(Collective collective, Given&& in, Received&& out, std::size_t bytes, Rank root) {
  return {.collective = collective,
          .in = in.data(),
          .out = out.data(),
          .in_count = in.size(),
          .out_count = out.size(),
          .type = Datatype::opaque,
          .element_bytes = bytes,
          .root = root};
}

/// @return the name of the call that moves objects, which all calls of this kind share.
std::string_view name_of_objects(ObjectCall::Kind kind) noexcept {
  switch (kind) {
    case ObjectCall::Kind::broadcast: return "broadcast of objects";
    case ObjectCall::Kind::scatter: return "scatter of objects";
    case ObjectCall::Kind::gather: return "gather of objects";
    case ObjectCall::Kind::all_gather: return "all_gather of objects";
    case ObjectCall::Kind::all_to_all: return "all_to_all of objects";
    case ObjectCall::Kind::send:
    case ObjectCall::Kind::recv: break;
  }
  return {};
}

std::size_t total_of(Counts counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

}  // namespace

ObjectCollective::ObjectCollective(Engine& engine, ObjectCall call)
    : ObjectOperation{engine, combine(call.type_fingerprint, call.name), std::move(call)} {
  if (call_.problem.empty()) make_source();
  const bool gives_many =
      call_.kind == ObjectCall::Kind::scatter || call_.kind == ObjectCall::Kind::all_to_all;
  const std::size_t given = comes_from_root() && !is_root() ? 0 : gives_many ? size_ : 1;
  const bool receives = call_.kind != ObjectCall::Kind::gather || is_root();
  make_frames(given, !receives ? 0 : comes_from_root() ? 1 : size_);
  vote_ = ObjectVote{report()};
}

ObjectCollective::~ObjectCollective() {
  engine_.payloads().give_back_visible(std::move(visible_));
}

/// Makes the source of a streamed object. If there is no memory for it, the rank reports that it
/// could not encode the object.
void ObjectCollective::make_source() {
  if (!call_.again || size_ == 1) return;
  try {
    const StreamShape shape = stream_of(call_.sizes.at(0));
    visible_ = engine_.payloads().acquire_visible(shape.bytes());
    if (visible_.size() == 0) payload_ = engine_.payloads().acquire(shape.bytes());
    std::byte* const memory = visible_.size() > 0 ? visible_.data() : payload_.data.get();
    source_ = std::make_unique<ObjectSource>(engine_, *this, shape, memory);
  } catch (const std::bad_alloc&) {
    call_.problem = "there is no memory for its bytes";
  }
}

Call ObjectCollective::frames_call() noexcept {
  const auto call = [this](Collective collective, Rank root) {
    return call_on(collective, sent_, frames_, sent_.frame_bytes(), root);
  };
  ObjectFrames& own = is_root() ? sent_ : frames_;
  switch (call_.kind) {
    case ObjectCall::Kind::broadcast:
      return call_on(Collective::broadcast, own, own, own.frame_bytes(), call_.root);
    case ObjectCall::Kind::scatter: return call(Collective::scatter, call_.root);
    case ObjectCall::Kind::gather: return call(Collective::gather, call_.root);
    case ObjectCall::Kind::all_gather: return call(Collective::all_gather, 0);
    case ObjectCall::Kind::all_to_all: return call(Collective::all_to_all, 0);
    case ObjectCall::Kind::send:
    case ObjectCall::Kind::recv: break;  // An ObjectMessage.
  }
  return {};
}

void ObjectCollective::prepare() {
  const CallName name{name_of_objects(call_.kind)};
  executions_.reserve(2);
  acquire(frames_call(), {});
  if (has_vote())
    acquire(call::all_reduce(std::span{vote_.numbers}, std::span{vote_.numbers}, max), {});
  start_clock();
}

void ObjectCollective::start() {
  has_started_ = true;
  const Call frames = frames_call();
  const Duration left = time_left();
  std::uint64_t* const numbers = vote_.numbers.data();
  engine_.progress().begin(*executions_[0], frames.in, frames.out, left);
  if (has_vote()) engine_.progress().begin(*executions_[1], numbers, numbers, left);
  later_ = engine_.order().keep();
}

void ObjectCollective::started() {
  if (source_) source_->encode(call_.again);
}

void ObjectCollective::drop_pending() noexcept {
  if (!has_started_) engine_.failures().give_up(words());
  drop();
}

void ObjectCollective::end_round() {
  switch (stage_) {
    case Stage::frames: return after_frames();
    case Stage::payload: return after_payload();
    case Stage::accounts: failure_ = failure_of(accounts_); return finish();
  }
}

void ObjectCollective::after_frames() {
  if (call_.kind == ObjectCall::Kind::broadcast && is_root()) frames_ = std::move(sent_);
  if (!has_vote())
    for (std::size_t i = 0; i < frames_.size(); ++i) vote_.join(ObjectVote{frames_[i].report});
  for (std::size_t i = 0; i < frames_.size(); ++i) frames_[i].check(giver(i), vote_);
  const bool is_alone = call_.kind == ObjectCall::Kind::broadcast && size_ == 1;
  if (!vote_.is_good()) start_accounts();
  else if (is_streamed()) start_stream();
  else if (bytes_beside(vote_.largest()) > 0 && !is_alone) start_payload();
  else finish();
}

void ObjectCollective::start_accounts() {
  stage_ = Stage::accounts;
  accounts_.resize(size_);
  ObjectAccount& own = accounts_[static_cast<std::size_t>(self_)];
  own = ObjectAccount{report(), words(), call_.problem};
  start_later(
      call_on(Collective::all_gather, std::span{&own, 1}, std::span{accounts_}, sizeof own, 0), {});
}

/// Moves the large objects together, since the small ones between them have moved in frames.
void ObjectCollective::start_payload() {
  stage_ = Stage::payload;
  std::byte* const in = call_.bytes.data();
  std::size_t from = 0;
  std::size_t to = 0;
  for (const std::size_t size : call_.sizes) {
    given_.push_back(bytes_beside(size));
    if (given_.back() > 0 && from != to) std::memmove(in + to, in + from, size);
    from += size;
    to += given_.back();
  }
  for (std::size_t i = 0; i < frames_.size(); ++i) beside_.push_back(bytes_beside(frames_[i].size));
  const bool is_sender = call_.kind == ObjectCall::Kind::broadcast && is_root();
  const std::size_t bytes = total_of(beside_);
  if (bytes > 0 && !is_sender) payload_ = engine_.payloads().acquire(bytes);
  start_later(payload_call(is_sender ? in : payload_.data.get(), to),
              {.counts = call_.kind == ObjectCall::Kind::all_gather ? Counts{beside_} : Counts{}});
}

Call ObjectCollective::payload_call(std::byte* out, std::size_t given_bytes) noexcept {
  Call call{.in = call_.bytes.data(),
            .out = out,
            .in_count = given_bytes,
            .out_count = total_of(beside_),
            .root = has_vote() ? call_.root : 0,
            .own_counts = true,
            .in_counts = given_,
            .out_counts = beside_};
  switch (call_.kind) {
    case ObjectCall::Kind::broadcast:
      return call::broadcast(std::span{out, call.out_count}, call_.root);
    case ObjectCall::Kind::scatter: call.collective = Collective::scatter; break;
    case ObjectCall::Kind::gather: call.collective = Collective::gather; break;
    case ObjectCall::Kind::all_to_all: call.collective = Collective::all_to_all; break;
    case ObjectCall::Kind::all_gather:
      call.collective = Collective::all_gather;
      call.own_counts = false;
      break;
    case ObjectCall::Kind::send:
    case ObjectCall::Kind::recv: break;  // An ObjectMessage.
  }
  return call;
}

void ObjectCollective::start_later(const Call& call, const Options& options,
                                   Partitioned* partitions) {
  const CallName name{name_of_objects(call_.kind)};
  Execution& execution = acquire(call, options);
  if (partitions != nullptr) execution.partition(*partitions);
  if (source_ && partitions != nullptr) source_->follow(execution);
  engine_.progress().start_later(execution, call.in, call.out, time_left(),
                                 std::exchange(later_, std::nullopt).value());
}

StreamShape ObjectCollective::stream_of(std::size_t object) const noexcept {
  return {object, !engine_.binder().shares_cores()};
}

bool ObjectCollective::is_streamed() const noexcept {
  return call_.kind == ObjectCall::Kind::broadcast && size_ > 1 && frames_[0].size > kStreamedBytes;
}

void ObjectCollective::start_stream() {
  stage_ = Stage::payload;
  const StreamShape shape = stream_of(frames_[0].size);
  if (!is_root()) {
    payload_ = engine_.payloads().acquire(shape.bytes());
    arrivals_ = std::make_unique<ObjectArrivals>(engine_.transport(), shape, payload_.data.get(),
                                                 engine_.options().segments_in_flight);
  }
  const std::span bytes{is_root() ? source_->bytes() : payload_.data.get(), shape.bytes()};
  Partitioned* const partitions =
      is_root() ? static_cast<Partitioned*>(source_.get()) : arrivals_.get();
  start_later(call::broadcast(bytes, call_.root), {.segment = shape.segment()}, partitions);
  expects(executions_.back()->binding().segments == shape.segments().parts,
          "both count the same segments");
}

std::string ObjectCollective::problem_of_stream() const {
  if (source_) return source_->problem();
  if (end_) return *end_;
  return StreamShape::problem_at(payload_.data.get() + arrivals_->shape().object());
}

void ObjectCollective::after_payload() {
  const std::string problem = source_ || arrivals_ ? problem_of_stream() : std::string{};
  if (!problem.empty())
    failure_ = Error{ErrorCode::object,
                     "rank " + std::to_string(call_.root) + " could not encode its part of " +
                         words() + ": " + problem,
                     call_.root};
  finish();
}

/// The root of a broadcast has the object that it gave.
void ObjectCollective::finish() {
  if (later_) engine_.order().end_keeping(*later_);
  ObjectOperation::finish(call_.kind == ObjectCall::Kind::broadcast && is_root());
}

}  // namespace tutti::v0::detail
