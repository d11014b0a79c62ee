/// @file
/// Moves the bytes of objects by the engine's own collectives: small ones in one round, together
/// with what ranks must agree on, large ones in a second.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tutti/call.hpp>
#include <tutti/object_call.hpp>

#include "execution.hpp"
#include "object_frames.hpp"
#include "object_stream.hpp"

namespace tutti::inline v0::detail {

/// One object collective. First comes a round of frames; where not every rank sees a frame of every
/// other, a vote goes beside it. Then the vote is known everywhere, and with it whether there is
/// another round: the bytes of large objects, or accounts of what went wrong. That round may begin
/// at another time on each rank, so its place in the order of calls is kept from the beginning.
/// A message to one rank is a frame, and the bytes of a large object behind it, with the same tag.
class ObjectOperation {
 public:
  /// @param engine outlives this. @param call what to do. Throws Error{invalid_argument}.
  ObjectOperation(Engine& engine, ObjectCall call);
  ObjectOperation(const ObjectOperation&) = delete;
  ObjectOperation& operator=(const ObjectOperation&) = delete;
  ~ObjectOperation();

  /// Finds what the first round needs. Nothing has happened where it throws.
  void prepare();
  /// Its turn has come: advance starts the first round.
  void let_start() noexcept { may_start_ = true; }
  /// Encodes what was only counted, while the first round and the second are under way. Throws
  /// Error, of which the communicator has failed.
  void encode();
  /// Goes on from what is done. Throws Error, of which the communicator fails.
  void advance();
  /// Gives back what was prepared or is under way; in the latter case the communicator fails.
  void drop() noexcept;
  /// Drops it while it is under way, or waits for others that are received before.
  void drop_pending() noexcept;
  /// Its handle ended within a call, after which drop_pending follows.
  void set_dropped() noexcept { is_dropped_ = true; }
  [[nodiscard]] bool is_dropped() const noexcept { return is_dropped_; }

  /// Whether nothing is left to do.
  [[nodiscard]] bool done() const noexcept { return stage_ == Stage::done; }
  /// Whether an object is arriving that may be decoded meanwhile.
  [[nodiscard]] bool is_arriving() const noexcept {
    return stage_ == Stage::payload && arrivals_ != nullptr;
  }
  /// Begins to decode it. @return its bytes. What follows may be called until it is done.
  [[nodiscard]] std::size_t begin_decoding() noexcept;
  /// As Arrivals::await.
  [[nodiscard]] std::span<const std::byte> await(std::size_t from, std::size_t bytes);
  /// Nothing is left to decode, whatever has come. Nothing where that has not begun.
  void end_decoding();
  /// Calls of the first round, and one to come.
  [[nodiscard]] std::uint32_t places() const noexcept {
    return is_message() ? 0 : has_vote() ? 3 : 2;
  }
  /// Whether this one has to receive all that it does before the other one begins.
  [[nodiscard]] bool goes_before(const ObjectOperation& other) const noexcept {
    return !done() && call_.way == Way::recv && other.call_.way == Way::recv &&
           call_.peer == other.call_.peer && call_.tag == other.call_.tag;
  }
  /// What all ranks get in place of objects, if they do.
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }
  [[nodiscard]] std::size_t count() const noexcept { return received_.size(); }
  [[nodiscard]] std::span<const std::byte> object(std::size_t index) const noexcept {
    return index < received_.size() ? received_[index] : std::span<const std::byte>{};
  }
  /// The rank that gave an object.
  [[nodiscard]] Rank giver(std::size_t index) const noexcept {
    if (is_message()) return call_.peer;
    return comes_from_root() ? call_.root : static_cast<Rank>(index);
  }
  /// The call, for a person.
  [[nodiscard]] std::string words() const;

 private:
  using Way = ObjectCall::Way;
  enum class Stage : std::uint8_t { frames, payload, accounts, done };

  [[nodiscard]] bool is_message() const noexcept {
    return call_.way == Way::send || call_.way == Way::recv;
  }
  [[nodiscard]] bool comes_from_root() const noexcept {
    return call_.way == Way::broadcast || call_.way == Way::scatter;
  }
  [[nodiscard]] bool has_vote() const noexcept {
    return comes_from_root() || call_.way == Way::gather;
  }
  [[nodiscard]] bool is_root() const noexcept { return self_ == call_.root; }
  [[nodiscard]] ObjectReport report() const noexcept;
  void start();
  void check_bytes();
  void take_memory();
  void check_count();
  void fill_frames();
  [[nodiscard]] Call frames_call() noexcept;
  void after_frames();
  void start_payload();
  void start_stream();
  void after_payload();
  [[nodiscard]] bool is_streamed() const noexcept;
  [[nodiscard]] StreamShape stream_of(std::size_t object) const noexcept;
  [[nodiscard]] bool is_decoding() const noexcept {
    return is_arriving() && arrivals_->is_decoding();
  }
  [[nodiscard]] std::string words_of_end() const;
  void start_accounts();
  void start_later(const Call& call, const Options& options, Watch* watch = nullptr);
  void finish();
  void place_received();
  [[nodiscard]] Call message_call(std::span<ObjectFrame> frame) const noexcept;
  [[nodiscard]] Call message_call(std::span<std::byte> bytes) const noexcept;
  void prepare_message();
  void start_message();
  void start_frame();
  void after_message();
  void finish_sending();

  Engine& engine_;
  ObjectCall call_;
  Rank self_;
  std::size_t size_;
  Stage stage_ = Stage::frames;
  bool may_start_ = false;
  bool has_started_ = false;
  bool is_dropped_ = false;
  Duration deadline_{0};
  ObjectVote vote_{};
  std::vector<ObjectFrame> sent_;        // one, or one for each rank
  std::vector<ObjectFrame> frames_;      // those received
  std::vector<ObjectAccount> accounts_;  // of all ranks
  std::vector<std::size_t> beside_;      // bytes of each received object in payload_
  RawBytes payload_;
  Buffer<std::byte> visible_{};               // in its place
  std::unique_ptr<ObjectSource> source_;      // of a streamed object at the root
  std::unique_ptr<ObjectArrivals> arrivals_;  // and elsewhere
  std::optional<std::string> end_;            // why it could not be encoded, or nothing
  std::vector<std::span<const std::byte>> received_;
  std::vector<Execution*> executions_;  // of this round
  std::optional<Execution::Turn> later_;
  std::optional<Error> failure_;
};

}  // namespace tutti::inline v0::detail
