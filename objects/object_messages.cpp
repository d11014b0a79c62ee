// Objects from one rank to another: a frame, and behind it the bytes of a large one.
#include <algorithm>

#include <tutti/spi/copy.hpp>

#include "collectives/engine.hpp"
#include "object_operation.hpp"

namespace tutti::v0::detail {

/// Types of their own, so that an array that is sent with the same tag is found to be wrong.
Call ObjectOperation::message_call(std::span<ObjectFrame> frame) const noexcept {
  Call call = message_call(std::as_writable_bytes(frame));
  call.in_count = call.out_count = 1;
  call.element_bytes = sizeof(ObjectFrame);
  return call;
}
Call ObjectOperation::message_call(std::span<std::byte> bytes) const noexcept {
  Call call = call_.kind == Kind::send ? call::send(bytes, call_.peer, call_.tag)
                                       : call::recv(bytes, call_.peer, call_.tag);
  call.type = Datatype::opaque;
  return call;
}

/// A sender has nothing to wait for in between. What keeps it from encoding goes in place of the
/// object.
void ObjectOperation::prepare_message() {
  if (call_.kind == Kind::recv) return;
  ObjectFrame& frame = sent_[0];
  const std::size_t text = std::min(call_.problem.size(), kInlineBytes);
  if (text > 0) copy_bytes(frame.payload.data(), call_.problem.data(), text);
  if (bytes_beside(frame.size) > 0)
    executions_.push_back(engine_.acquire(
        message_call(std::span{call_.bytes.data(), static_cast<std::size_t>(frame.size)}), {}));
}

void ObjectOperation::start_message() {
  if (!engine_.progress().is_next(*this)) return;
  start_frame();
}

void ObjectOperation::start_frame() {
  has_started_ = true;
  const Duration left = std::max(Duration{1}, deadline_ - engine_.transport().now());
  const Call frame = frames_call();
  engine_.start(*executions_[0], frame.in, frame.out, left);
  if (executions_.size() > 1) engine_.start(*executions_[1], call_.bytes.data(), nullptr, left);
}

/// The sender counts on every object that was asked for, also on one whose turn has not come.
void ObjectOperation::drop_pending() noexcept {
  try {
    if (!has_started_ && is_message()) start_frame();
    else if (!has_started_) engine_.give_up(words());
  } catch (...) {  // The communicator has failed, and knows why.
  }
  drop();
}

void ObjectOperation::finish_sending() {
  if (!call_.problem.empty())
    failure_ = Error{ErrorCode::object,
                     "rank " + std::to_string(self_) + " could not encode its part of " + words() +
                         ": " + call_.problem,
                     self_};
  finish();
}

void ObjectOperation::after_message() {
  const ObjectFrame& frame = frames_[0];
  frame.check(call_.peer, ObjectVote{frame.report});
  const std::string sender = "rank " + std::to_string(call_.peer);
  if (frame.size > call_.options.most_bytes)
    throw Error{ErrorCode::mismatch,
                sender + " sent an object of " + std::to_string(frame.size) + " bytes, rank " +
                    std::to_string(self_) + " takes at most " +
                    std::to_string(call_.options.most_bytes) + " (ObjectOptions::most_bytes)",
                call_.peer};
  if (frame.report.failed != 0) {
    const auto* const text = reinterpret_cast<const char*>(frame.payload.data());
    failure_ = Error{ErrorCode::object,
                     sender + " could not encode its part of " + words() + ": " +
                         std::string{text, std::find(text, text + kInlineBytes, '\0')},
                     call_.peer};
  } else if (frame.report.fingerprint != report().fingerprint) {
    failure_ = Error{ErrorCode::object, sender + " sent an object of another type than " + words(),
                     call_.peer};
  }
  beside_ = {bytes_beside(frame.size)};
  if (beside_[0] == 0) return finish();
  stage_ = Stage::payload;
  payload_ = engine_.payloads().take(beside_[0]);
  const Call call = message_call(std::span{payload_.data.get(), beside_[0]});
  executions_.push_back(engine_.acquire(call, {}));
  engine_.start(*executions_.back(), call.in, call.out,
                std::max(Duration{1}, deadline_ - engine_.transport().now()));
}

}  // namespace tutti::v0::detail
