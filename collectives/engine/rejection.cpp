#include "rejection.hpp"

#include <utility>

#include <tutti/batch.hpp>
#include <tutti/object_call.hpp>
#include <tutti/spi/rejection.hpp>

#include "engine.hpp"

namespace tutti::v0::detail {
namespace {

/// @return a message without elements, whose type matches no other.
Call message_of(const Call& call) noexcept {
  return {.type = Datatype::opaque,
          .element_bytes = kRejectedBytes,
          .point_to_point = call.point_to_point,
          .to = call.to,
          .from = call.from,
          .tag = call.tag};
}

bool is_within(int value, std::uint32_t end) noexcept {
  return value >= 0 && static_cast<std::uint32_t>(value) < end;
}

bool has_place(Engine& engine, const Call& call) noexcept {
  if (call.point_to_point == PointToPoint::none) return true;
  const auto size = static_cast<std::uint32_t>(engine.transport().size());
  const bool has_receiver = call.point_to_point == PointToPoint::recv || is_within(call.to, size);
  const bool has_sender = call.point_to_point == PointToPoint::send || is_within(call.from, size);
  return has_receiver && has_sender && is_within(call.tag, engine.order().user_tags());
}

}  // namespace

std::shared_ptr<Rejection> Rejection::make(Engine& engine, const Call& call,
                                           std::string_view reason) {
  engine.failures().check();
  return has_place(engine, call) ? std::make_shared<Rejection>(engine, call, reason) : nullptr;
}

Rejection::Rejection(Engine& engine, const Call& call, std::string_view reason)
    : engine_{engine}, call_{message_of(call)}, reason_{reason} {}

void Rejection::prepare() {
  if (!is_message()) return;
  note_message();
  execution_ = engine_.calls().acquire(call_, {});
}

/// Describes the rejected message, since ranks whose messages meet it inquire about it.
void Rejection::note_message() {
  CallCounter& counter = engine_.counter();
  const std::uint64_t fingerprint = fingerprint_of_rejection(reason_);
  counter.describe(fingerprint, reason_);
  counter.add_plan(kRejectedMessage, fingerprint);
  counter.forget(fingerprint);
}

void Rejection::advance() {
  if (!may_start_ || is_done_) return;
  if (!is_message()) {
    engine_.calls().skip(reason_);
  } else {
    if (!has_started_ && is_needed()) start_message();
    if (!has_started_ || !execution_->done()) return;
    drop();
  }
  is_done_ = true;
}

/// A receive is posted only once its message has come. If it were posted before, or if that rank
/// alone were probed, the end of a rank that sends nothing would become an error.
bool Rejection::is_needed() {
  if (call_.point_to_point != PointToPoint::recv) return true;
  const std::uint32_t tag = engine_.order().tag_of_message(call_.tag);
  const auto oldest = engine_.transport().probe(any_rank, tag);
  return oldest && (oldest->from == call_.from || engine_.transport().probe(call_.from, tag));
}

void Rejection::start_message() {
  has_started_ = true;
  engine_.calls().start(*execution_, nullptr, nullptr, Duration::max());
}

void Rejection::precede_receive(Rank from, int tag) {
  if (is_message() && may_start_ && !has_started_ && from == call_.from && tag == call_.tag)
    start_message();
}

void Rejection::drop() noexcept {
  if (execution_ != nullptr) engine_.calls().release(std::exchange(execution_, nullptr));
}

void ObjectAccess::reject(Communicator& world, const Call& call, std::string_view reason) {
  const CallGuard use{world.engine_};
  BatchScope::reject("a call that is rejected");
  if (const auto rejection = Rejection::make(*world.engine_, call, reason))
    world.engine_->progress().start(rejection);
}

}  // namespace tutti::v0::detail

namespace tutti::v0 {

void reject_call(Communicator& communicator, const Call& call, std::string_view reason) {
  detail::ObjectAccess::reject(communicator, call, reason);
}

}  // namespace tutti::v0
