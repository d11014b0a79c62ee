/// @file
/// The common part of a collective of objects and a message of one object.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tutti/call.hpp>
#include <tutti/object_call.hpp>

#include "collectives/execution/execution.hpp"
#include "collectives/execution/task.hpp"
#include "object_frames.hpp"
#include "object_stream.hpp"

namespace tutti::v0::detail {

/// Keeps the bytes and frames that a rank gives and receives, and the executions of the current
/// round. Derived classes define the rounds: first frames, then the bytes of large objects.
class ObjectOperation : public Task {
 public:
  /// @param engine outlives the task. Throws Error{invalid_argument}.
  [[nodiscard]] static std::shared_ptr<ObjectOperation> make(Engine& engine, ObjectCall call);
  ~ObjectOperation() override;

  void let_start() noexcept override { may_start_ = true; }
  void advance() final;
  void drop() noexcept override;
  [[nodiscard]] bool done() const noexcept override { return is_done_; }

  /// Whether an object is arriving, which may be decoded meanwhile.
  [[nodiscard]] bool is_arriving() const noexcept { return arrivals_ != nullptr && !is_done_; }
  /// Begins to decode the arriving object. @return its bytes. The next two functions may be called
  /// until it is done.
  [[nodiscard]] std::size_t begin_decoding() noexcept;
  /// As Arrivals::await.
  [[nodiscard]] std::span<const std::byte> await(std::size_t from, std::size_t bytes);
  /// Ends the decoding. It has no effect if no decoding has begun.
  void end_decoding();

  /// @return the error that all ranks get instead of objects, if there is one.
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }
  [[nodiscard]] std::size_t count() const noexcept { return received_.size(); }
  [[nodiscard]] std::span<const std::byte> object(std::size_t index) const noexcept {
    return index < received_.size() ? received_[index] : std::span<const std::byte>{};
  }
  /// Separates the memory of received objects, of which object() still returns parts.
  [[nodiscard]] std::shared_ptr<const void> detach_bytes();
  /// @return the rank that gave an object.
  [[nodiscard]] virtual Rank giver(std::size_t index) const noexcept = 0;
  /// @return the call, as a text for people.
  [[nodiscard]] std::string words() const;

 protected:
  /// Throws Error{invalid_argument}. @param fingerprint of all on which ranks must agree.
  ObjectOperation(Engine& engine, std::uint64_t fingerprint, ObjectCall call);
  /// Starts the first round.
  virtual void start() = 0;
  /// Called when all executions of a round are done.
  virtual void end_round() = 0;

  /// Makes a frame of each object. A rank that gives a wrong number of objects counts as one that
  /// could not encode them; its objects are empty. @param expected number of objects to give.
  /// @param received number of frames to receive.
  void make_frames(std::size_t expected, std::size_t received);
  [[nodiscard]] ObjectReport report() const noexcept;
  /// @return the bytes of an object that move outside its frame: all of them, or zero.
  [[nodiscard]] std::size_t bytes_beside(std::size_t size) const noexcept {
    return size > inline_bytes_ ? size : 0;
  }
  /// Sets the deadline by the timeout of the call or the communicator.
  void start_clock();
  [[nodiscard]] Duration time_left() const;
  /// Adds an execution to the round. @return it.
  Execution& acquire(const Call& call, const Options& options);
  /// Ends the operation. @param has_own whether the rank has its object already.
  void finish(bool has_own);

  Engine& engine_;
  ObjectCall call_;
  Rank self_;
  std::size_t size_;
  bool has_started_ = false;
  std::size_t inline_bytes_;           // the most bytes of an object in a frame
  ObjectFrames sent_{};                // one, or one for each rank
  ObjectFrames frames_{};              // received ones
  std::vector<std::size_t> beside_{};  // bytes of each received object in payload_
  RawBytes payload_{};
  std::unique_ptr<ObjectArrivals> arrivals_{};  // of a streamed object
  std::optional<std::string> end_{};            // its error text, or empty, once it was decoded
  std::vector<Execution*> executions_{};        // of this round
  std::optional<Error> failure_{};

 private:
  [[nodiscard]] bool is_decoding() const noexcept {
    return is_arriving() && arrivals_->is_decoding();
  }
  void check_bytes();

  std::uint64_t fingerprint_;
  std::string type_;  // the caller may free the name in the call after the start
  bool may_start_ = false;
  bool is_done_ = false;
  Duration deadline_{0};
  std::vector<std::span<const std::byte>> received_{};
};

}  // namespace tutti::v0::detail
