/// @file
/// An operation on objects: what a collective of objects and a message of one have in common.
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

/// Keeps the bytes and frames that a rank gives and receives, and the executions of the round at
/// hand. Derived classes decide the rounds: first frames, then the bytes of large objects.
class ObjectOperation : public Task {
 public:
  /// @param engine outlives this. @param call what to do. @return the task. Throws
  /// Error{invalid_argument}.
  [[nodiscard]] static std::shared_ptr<ObjectOperation> make(Engine& engine, ObjectCall call);
  ~ObjectOperation() override;

  void let_start() noexcept override { may_start_ = true; }
  void advance() final;
  void drop() noexcept override;
  [[nodiscard]] bool done() const noexcept override { return is_done_; }

  /// Whether an object is arriving that may be decoded meanwhile.
  [[nodiscard]] bool is_arriving() const noexcept { return arrivals_ != nullptr && !is_done_; }
  /// Begins to decode it. @return its bytes. The next functions may be called until it is done.
  [[nodiscard]] std::size_t begin_decoding() noexcept;
  /// As Arrivals::await.
  [[nodiscard]] std::span<const std::byte> await(std::size_t from, std::size_t bytes);
  /// Nothing is left to decode, whatever has come. Nothing where that has not begun.
  void end_decoding();

  /// What all ranks get in place of objects, if they do.
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }
  [[nodiscard]] std::size_t count() const noexcept { return received_.size(); }
  [[nodiscard]] std::span<const std::byte> object(std::size_t index) const noexcept {
    return index < received_.size() ? received_[index] : std::span<const std::byte>{};
  }
  /// Separates the memory of received objects, of which object() still returns parts.
  [[nodiscard]] std::shared_ptr<const void> detach_bytes();
  /// The rank that gave an object.
  [[nodiscard]] virtual Rank giver(std::size_t index) const noexcept = 0;
  /// The call, for a person.
  [[nodiscard]] std::string words() const;

 protected:
  using Kind = ObjectCall::Kind;

  /// Throws Error{invalid_argument}. @param fingerprint of what ranks must agree on.
  ObjectOperation(Engine& engine, std::uint64_t fingerprint, ObjectCall call);
  /// Starts the first round.
  virtual void start() = 0;
  /// All executions of a round are done.
  virtual void end_round() = 0;

  /// Makes a frame of each object. A rank that gives a wrong number of them could not encode what
  /// it should: then its objects are empty. @param expected number of them. @param received frames
  /// that come from other ranks.
  void make_frames(std::size_t expected, std::size_t received);
  [[nodiscard]] ObjectReport report() const noexcept;
  /// Whether an object moves beside the frames. @param size its bytes. @return so many, or zero.
  [[nodiscard]] std::size_t bytes_beside(std::size_t size) const noexcept {
    return size > inline_bytes_ ? size : 0;
  }
  /// The deadline is so long from now as the call, or the communicator, says.
  void start_clock();
  [[nodiscard]] Duration time_left() const;
  /// @return an idle execution, which becomes one of the round's.
  Execution& acquire(const Call& call, const Options& options);
  /// The operation ends. @param has_own whether the rank has its object already.
  void finish(bool has_own);

  Engine& engine_;
  ObjectCall call_;
  Rank self_;
  std::size_t size_;
  bool has_started_ = false;
  std::size_t inline_bytes_;           // that an object in a frame may have
  ObjectFrames sent_{};                // one, or one for each rank
  ObjectFrames frames_{};              // those received
  std::vector<std::size_t> beside_{};  // bytes of each received object in payload_
  RawBytes payload_{};
  std::unique_ptr<ObjectArrivals> arrivals_{};  // of a streamed object
  std::optional<std::string> end_{};            // why that could not be encoded, or nothing
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
