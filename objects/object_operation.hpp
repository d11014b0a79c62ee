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

#include "collectives/execution.hpp"
#include "collectives/task.hpp"
#include "object_frames.hpp"
#include "object_stream.hpp"

namespace tutti::v0::detail {

/// One object collective. First comes a round of frames; where not every rank sees a frame of every
/// other, a vote goes beside it. Then the vote is known everywhere, and with it whether there is
/// another round: the bytes of large objects, or accounts of what went wrong. That round may begin
/// at another time on each rank, so its place in the order of calls is kept from the beginning.
/// A message to one rank is a frame, and the bytes of a large object behind it, with the same tag.
class ObjectOperation final : public Task {
 public:
  /// @param engine outlives this. @param call what to do. Throws Error{invalid_argument}.
  ObjectOperation(Engine& engine, ObjectCall call);
  ~ObjectOperation() override;

  void prepare() override;
  void let_start() noexcept override { may_start_ = true; }
  /// Encodes what was only counted, while the first round and the second are under way.
  void started() override;
  void advance() override;
  void drop() noexcept override;
  void drop_pending() noexcept override;
  [[nodiscard]] bool done() const noexcept override { return stage_ == Stage::done; }
  [[nodiscard]] std::optional<std::pair<Rank, int>> receives() const noexcept override {
    if (done() || call_.kind != Kind::recv) return std::nullopt;
    return std::pair{call_.peer, call_.tag};
  }
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
  [[nodiscard]] std::uint32_t places() const noexcept override {
    return is_message() ? 0 : has_vote() ? 3 : 2;
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
  using Kind = ObjectCall::Kind;
  enum class Stage : std::uint8_t { frames, payload, accounts, done };

  [[nodiscard]] bool is_message() const noexcept {
    return call_.kind == Kind::send || call_.kind == Kind::recv;
  }
  [[nodiscard]] bool comes_from_root() const noexcept {
    return call_.kind == Kind::broadcast || call_.kind == Kind::scatter;
  }
  [[nodiscard]] bool has_vote() const noexcept {
    return comes_from_root() || call_.kind == Kind::gather;
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
  void start_later(const Call& call, const Options& options, Partitioned* partitions = nullptr);
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

}  // namespace tutti::v0::detail
