#include "object_message.hpp"

#include <algorithm>
#include <string>

#include <tutti/spi/copy.hpp>

#include "collectives/engine/engine.hpp"

namespace tutti::v0::detail {

ObjectMessage::ObjectMessage(Engine& engine, ObjectCall call)
    : ObjectOperation{engine, call.type_fingerprint, std::move(call)} {
  make_frames(is_sender() ? 1 : 0, is_sender() ? 0 : 1);
}

/// Frames and bytes have types of their own, so that an array sent with the same tag is rejected.
Call ObjectMessage::frame_call() noexcept {
  ObjectFrames& frames = is_sender() ? sent_ : frames_;
  Call call = bytes_call({frames.data(), frames.frame_bytes()});
  call.in_count = call.out_count = 1;
  call.element_bytes = frames.frame_bytes();
  return call;
}
Call ObjectMessage::bytes_call(std::span<std::byte> bytes) const noexcept {
  Call call = is_sender() ? call::send(bytes, call_.peer, call_.tag)
                          : call::recv(bytes, call_.peer, call_.tag);
  call.type = Datatype::opaque;
  return call;
}

/// The sender starts the frame and the bytes together. If it could not encode the object, the frame
/// has the error text in place of the object.
void ObjectMessage::prepare() {
  executions_.reserve(2);
  acquire(frame_call(), {});
  if (is_sender()) {
    const std::size_t text = std::min(call_.problem.size(), inline_bytes_);
    if (text > 0) copy_bytes(sent_.payload(0), call_.problem.data(), text);
    if (const std::size_t beside = bytes_beside(sent_[0].size); beside > 0)
      acquire(bytes_call({call_.bytes.data(), beside}), {});
  }
  start_clock();
}

void ObjectMessage::start() {
  if (engine_.progress().is_next(*this)) start_frame();
}

void ObjectMessage::start_frame() {
  has_started_ = true;
  const Duration left = time_left();
  const Call frame = frame_call();
  engine_.calls().start(*executions_[0], frame.in, frame.out, left);
  if (executions_.size() > 1)
    engine_.calls().start(*executions_[1], call_.bytes.data(), nullptr, left);
}

/// Starts the receive of a frame that has not started: the sender sends its object in any case.
void ObjectMessage::drop_pending() noexcept {
  try {
    if (!has_started_) start_frame();
  } catch (...) {  // the communicator has failed, and keeps the cause
  }
  drop();
}

void ObjectMessage::end_round() {
  if (is_sender()) {
    if (!call_.problem.empty())
      failure_ = Error{ErrorCode::object,
                       "rank " + std::to_string(self_) + " could not encode its part of " +
                           words() + ": " + call_.problem,
                       self_};
    return finish(true);
  }
  if (has_frame_) return finish(false);
  has_frame_ = true;
  check_frame();
  beside_ = {bytes_beside(frames_[0].size)};
  if (beside_[0] == 0) return finish(false);
  payload_ = engine_.payloads().acquire(beside_[0]);
  const Call call = bytes_call({payload_.data.get(), beside_[0]});
  engine_.calls().start(acquire(call, {}), call.in, call.out, time_left());
}

void ObjectMessage::check_frame() {
  const ObjectFrame& frame = frames_[0];
  frame.check(call_.peer, ObjectVote{frame.report});
  const std::string sender = "rank " + std::to_string(call_.peer);
  if (frame.size > call_.options.most_bytes)
    throw Error{ErrorCode::mismatch,
                sender + " sent an object of " + std::to_string(frame.size) + " bytes, rank " +
                    std::to_string(self_) + " accepts at most " +
                    std::to_string(call_.options.most_bytes) + " (ObjectOptions::most_bytes)",
                call_.peer};
  if (frame.report.failed != 0) {
    const auto* const text = reinterpret_cast<const char*>(frames_.payload(0));
    failure_ = Error{ErrorCode::object,
                     sender + " could not encode its part of " + words() + ": " +
                         std::string{text, std::find(text, text + inline_bytes_, '\0')},
                     call_.peer};
  } else if (frame.report.fingerprint != report().fingerprint) {
    failure_ = Error{ErrorCode::object, sender + " sent an object of another type than " + words(),
                     call_.peer};
  }
}

}  // namespace tutti::v0::detail
