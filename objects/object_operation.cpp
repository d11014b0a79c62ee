#include "object_operation.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

#include <tutti/call_name.hpp>
#include <tutti/spi/copy.hpp>

#include "algorithms/hash.hpp"
#include "collectives/engine.hpp"
#include "collectives/check_call.hpp"

namespace tutti::v0 {

void ObjectCall::note_failure() {
  bytes.drop_object();
  problem = detail::words_of_exception();
}

namespace detail {
namespace {

/// Number of enumerators of ObjectCall::Kind.
constexpr int kWays = 7;

/// A call on frames or accounts, which are nothing but bytes to everybody else.
template <class Letter>
Call call_on(Collective collective, std::span<Letter> in, std::span<Letter> out, Rank root) {
  return {.collective = collective,
          .in = in.data(),
          .out = out.data(),
          .in_count = in.size(),
          .out_count = out.size(),
          .type = Datatype::opaque,
          .element_bytes = sizeof(Letter),
          .root = root};
}

/// @return the name of the call that moves objects, which all calls of this kind share.
std::string_view name_of_objects(ObjectCall::Kind kind) noexcept {
  using Kind = ObjectCall::Kind;
  switch (kind) {
    case Kind::broadcast: return "broadcast of objects";
    case Kind::scatter: return "scatter of objects";
    case Kind::gather: return "gather of objects";
    case Kind::all_gather: return "all_gather of objects";
    case Kind::all_to_all: return "all_to_all of objects";
    case Kind::send:
    case Kind::recv: break;
  }
  return {};
}

std::size_t total_of(Counts counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

}  // namespace

ObjectOperation::ObjectOperation(Engine& engine, ObjectCall call)
    : engine_{engine}, call_{std::move(call)}, self_{engine.transport().self()},
      size_{static_cast<std::size_t>(engine.transport().size())} {
  check_enumerator(call_.name, "way", static_cast<int>(call_.kind), kWays);
  check_timeout(call_.name, call_.options.timeout);
  if (call_.problem.empty()) check_bytes();
  if (call_.problem.empty()) take_memory();
  check_count();
  vote_ = ObjectVote{report()};
  fill_frames();
}

ObjectOperation::~ObjectOperation() {
  engine_.payloads().give(call_.bytes.give_back());
  engine_.payloads().give_visible(std::move(visible_));
  engine_.payloads().give(std::move(payload_));
}

std::string ObjectOperation::words() const {
  return std::string{call_.name} + " of " + std::string{call_.type};
}

ObjectReport ObjectOperation::report() const noexcept {
  const auto largest = std::max_element(call_.sizes.begin(), call_.sizes.end());
  return {.fingerprint =
              is_message() ? call_.type_fingerprint : combine(call_.type_fingerprint, call_.name),
          .failed = call_.problem.empty() ? 0U : 1U,
          .most = call_.options.most_bytes,
          .largest = largest == call_.sizes.end() ? 0 : *largest};
}

/// What is large is encoded again, or, where all of it was kept, copied.
void ObjectOperation::check_bytes() {
  const std::size_t given = total_of(call_.sizes);
  const bool is_kept = !call_.bytes.is_counted() && call_.bytes.size() == given;
  if (!is_kept && !call_.again)
    throw Error{ErrorCode::invalid_argument,
                words() +
                    ": the call has no bytes of its object, and nothing to encode it again; "
                    "use ObjectCall::add_kept, or an Encoder that keeps all bytes"};
  if (is_kept && given > kStreamedBytes && call_.kind == Kind::broadcast && is_root())
    call_.again = [this](Encoder& to) { to.write(call_.bytes.data(), call_.sizes[0]); };
}

/// Who has no memory for an object cannot encode it.
void ObjectOperation::take_memory() {
  if (!call_.again || size_ == 1) return;
  try {
    const StreamShape shape = stream_of(call_.sizes.at(0));
    visible_ = engine_.payloads().take_visible(shape.bytes());
    if (visible_.size() == 0) payload_ = engine_.payloads().take(shape.bytes());
    std::byte* const memory = visible_.size() > 0 ? visible_.data() : payload_.data.get();
    source_ = std::make_unique<ObjectSource>(engine_, *this, shape, memory);
  } catch (const std::bad_alloc&) {
    call_.problem = "there is no memory for its bytes";
  }
}

/// Who gives a wrong number of objects could not encode what it should. Then its objects are empty.
void ObjectOperation::check_count() {
  const bool gives = call_.kind != Kind::recv && (!comes_from_root() || is_root());
  const bool many = call_.kind == Kind::scatter || call_.kind == Kind::all_to_all;
  const std::size_t expected = !gives ? 0 : many ? size_ : 1;
  if (call_.problem.empty() && call_.sizes.size() != expected)
    call_.problem = std::to_string(call_.sizes.size()) + " objects were given for " +
                    std::to_string(expected) + " ranks";
  if (!call_.problem.empty()) call_.sizes.assign(expected, 0);
}

void ObjectOperation::fill_frames() {
  const ObjectReport own = report();
  const std::byte* object = call_.bytes.data();
  for (const std::size_t size : call_.sizes) {
    ObjectFrame& frame = sent_.emplace_back();
    frame.report = own;
    frame.size = size;
    if (size > 0 && bytes_beside(size) == 0) copy_bytes(frame.payload.data(), object, size);
    object += size;
  }
  const bool takes = call_.kind != Kind::send && (call_.kind != Kind::gather || is_root());
  frames_.resize(!takes ? 0 : comes_from_root() || call_.kind == Kind::recv ? 1 : size_);
}

Call ObjectOperation::frames_call() noexcept {
  const std::span<ObjectFrame> in{sent_};
  const std::span<ObjectFrame> out{frames_};
  switch (call_.kind) {
    case Kind::broadcast:
      return call_on(Collective::broadcast, is_root() ? in : out, is_root() ? in : out, call_.root);
    case Kind::scatter: return call_on(Collective::scatter, in, out, call_.root);
    case Kind::gather: return call_on(Collective::gather, in, out, call_.root);
    case Kind::all_gather: return call_on(Collective::all_gather, in, out, 0);
    case Kind::all_to_all: return call_on(Collective::all_to_all, in, out, 0);
    case Kind::send: return message_call(in);
    case Kind::recv: return message_call(out);
  }
  return {};
}

void ObjectOperation::prepare() {
  const CallName name{name_of_objects(call_.kind)};
  executions_.reserve(2);
  executions_.push_back(engine_.acquire(frames_call(), {}));
  if (is_message()) prepare_message();
  if (has_vote())
    executions_.push_back(engine_.acquire(
        call::all_reduce(std::span{vote_.numbers}, std::span{vote_.numbers}, max), {}));
  Duration timeout = call_.options.timeout;
  if (timeout == Duration::zero()) timeout = engine_.options().timeout;
  deadline_ = deadline_after(engine_.transport().now(), timeout);
}

void ObjectOperation::start() {
  if (is_message()) return start_message();
  has_started_ = true;
  const Call frames = frames_call();
  const Duration left = std::max(Duration{1}, deadline_ - engine_.transport().now());
  engine_.progress().begin(*executions_[0], frames.in, frames.out, left);
  if (has_vote()) engine_.progress().begin(*executions_[1], vote_.numbers.data(), vote_.numbers.data(), left);
  later_ = engine_.keep_turn();
}

void ObjectOperation::advance() {
  if (!has_started_ && may_start_) start();
  if (!has_started_) return;
  while (!done() && !is_decoding() && std::ranges::all_of(executions_, &Execution::done)) {
    for (Execution* const execution : executions_) engine_.release(execution);
    executions_.clear();
    switch (stage_) {
      case Stage::frames:
        if (call_.kind == Kind::send) finish_sending();
        else if (call_.kind == Kind::recv) after_message();
        else after_frames();
        break;
      case Stage::payload: after_payload(); break;
      case Stage::accounts:
        failure_ = failure_of(accounts_);
        finish();
        break;
      case Stage::done: break;
    }
  }
}

void ObjectOperation::drop() noexcept {
  for (Execution* const execution : executions_) engine_.release(execution);
  executions_.clear();
}

void ObjectOperation::after_frames() {
  if (call_.kind == Kind::broadcast && is_root()) frames_ = sent_;
  if (!has_vote())
    for (const ObjectFrame& frame : frames_) vote_.join(ObjectVote{frame.report});
  for (std::size_t i = 0; i < frames_.size(); ++i) frames_[i].check(giver(i), vote_);
  const bool is_alone = call_.kind == Kind::broadcast && size_ == 1;  // with nobody to send to
  if (!vote_.is_good()) start_accounts();
  else if (is_streamed()) start_stream();
  else if (bytes_beside(vote_.largest()) > 0 && !is_alone) start_payload();
  else finish();
}

void ObjectOperation::start_accounts() {
  stage_ = Stage::accounts;
  accounts_.resize(size_);
  ObjectAccount& own = accounts_[static_cast<std::size_t>(self_)];
  own = ObjectAccount{report(), words(), call_.problem};
  start_later(call_on(Collective::all_gather, std::span{&own, 1}, std::span{accounts_}, 0), {});
}

/// Large objects lie one after the other, as the counts say: the small ones between them go.
void ObjectOperation::start_payload() {
  stage_ = Stage::payload;
  std::vector<std::size_t> given;
  std::byte* const in = call_.bytes.data();
  std::size_t from = 0;
  std::size_t to = 0;
  for (const std::size_t size : call_.sizes) {
    given.push_back(bytes_beside(size));
    if (given.back() > 0 && from != to) std::memmove(in + to, in + from, size);
    from += size;
    to += given.back();
  }
  for (const ObjectFrame& frame : frames_) beside_.push_back(bytes_beside(frame.size));
  const bool is_sender = call_.kind == Kind::broadcast && is_root();
  const std::size_t bytes = total_of(beside_);
  if (bytes > 0 && !is_sender) payload_ = engine_.payloads().take(bytes);
  std::byte* const out = is_sender ? in : payload_.data.get();
  Call call{.in = in,
            .out = out,
            .in_count = to,
            .out_count = bytes,
            .root = comes_from_root() || call_.kind == Kind::gather ? call_.root : 0,
            .own_counts = true,
            .in_counts = given,
            .out_counts = beside_};
  switch (call_.kind) {
    case Kind::broadcast: call = call::broadcast(std::span{out, bytes}, call_.root); break;
    case Kind::scatter: call.collective = Collective::scatter; break;
    case Kind::gather: call.collective = Collective::gather; break;
    case Kind::all_to_all: call.collective = Collective::all_to_all; break;
    case Kind::all_gather:
      call.collective = Collective::all_gather;
      call.own_counts = false;
      break;
    case Kind::send:
    case Kind::recv: break;  // They have ways of their own.
  }
  start_later(call, {.counts = call_.kind == Kind::all_gather ? Counts{beside_} : Counts{}});
}

void ObjectOperation::start_later(const Call& call, const Options& options,
                                  Partitioned* partitions) {
  const CallName name{name_of_objects(call_.kind)};
  executions_.push_back(engine_.acquire(call, options));
  if (partitions != nullptr) executions_.back()->partition(*partitions);
  if (source_ && partitions != nullptr) source_->follow(*executions_.back());
  const Duration left = std::max(Duration{1}, deadline_ - engine_.transport().now());
  engine_.progress().start_later(*executions_.back(), call.in, call.out, left,
                      std::exchange(later_, std::nullopt).value());
}

void ObjectOperation::after_payload() {
  const std::string problem = source_ || arrivals_ ? words_of_end() : std::string{};
  if (!problem.empty())
    failure_ = Error{ErrorCode::object,
                     "rank " + std::to_string(call_.root) + " could not encode its part of " +
                         words() + ": " + problem,
                     call_.root};
  finish();
}

void ObjectOperation::finish() {
  if (later_) engine_.give_up_turn(*later_);
  if (!failure_) place_received();
  stage_ = Stage::done;
}

void ObjectOperation::place_received() {
  // The root of a broadcast has what it gave, and what was decoded while it came is gone.
  if ((call_.kind == Kind::broadcast && is_root()) || end_) return;
  const std::byte* next = payload_.data.get();
  for (const ObjectFrame& frame : frames_) {
    const std::size_t beside = bytes_beside(frame.size);
    received_.emplace_back(beside > 0 ? next : frame.payload.data(), frame.size);
    next += beside;
  }
}

}  // namespace detail
}  // namespace tutti::v0
