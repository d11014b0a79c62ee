/// @file
/// Collectives of objects, by the engine's own collectives.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "object_operation.hpp"

namespace tutti::v0::detail {

/// One object collective. The first round moves frames; if a rank does not receive the frames of
/// all others, a vote runs at the same time. The vote, which all ranks then have, decides whether
/// there is a second round: for the bytes of large objects, or for accounts of failures. Ranks may
/// begin it at different times, so its position in the order of calls is kept from the beginning.
class ObjectCollective final : public ObjectOperation {
 public:
  /// As ObjectOperation::make.
  ObjectCollective(Engine& engine, ObjectCall call);
  ~ObjectCollective() override;

  void prepare() override;
  /// Encodes a large object while the rounds are under way; so far only its bytes were counted.
  void started() override;
  void drop_pending() noexcept override;
  /// @return the calls of the first round, and one for the second.
  [[nodiscard]] std::uint32_t positions() const noexcept override { return has_vote() ? 3 : 2; }
  [[nodiscard]] std::optional<std::pair<Rank, int>> receives() const noexcept override {
    return std::nullopt;
  }
  [[nodiscard]] Rank giver(std::size_t index) const noexcept override {
    return comes_from_root() ? call_.root : static_cast<Rank>(index);
  }

 private:
  enum class Stage : std::uint8_t { frames, payload, accounts };

  [[nodiscard]] bool comes_from_root() const noexcept {
    return call_.kind == ObjectCall::Kind::broadcast || call_.kind == ObjectCall::Kind::scatter;
  }
  [[nodiscard]] bool has_vote() const noexcept {
    return comes_from_root() || call_.kind == ObjectCall::Kind::gather;
  }
  [[nodiscard]] bool is_root() const noexcept { return self_ == call_.root; }
  void start() override;
  void end_round() override;
  void make_source();
  [[nodiscard]] Call frames_call() noexcept;
  [[nodiscard]] Call payload_call(std::byte* out, std::size_t given_bytes) noexcept;
  void start_payload();
  void start_accounts();
  void start_stream();
  [[nodiscard]] bool is_streamed() const noexcept;
  [[nodiscard]] StreamShape stream_of(std::size_t object) const noexcept;
  [[nodiscard]] std::string problem_of_stream() const;
  void start_later(const Call& call, const Options& options, Partitioned* partitions = nullptr);
  void after_frames();
  void after_payload();
  void finish();

  Stage stage_ = Stage::frames;
  ObjectVote vote_{};
  std::vector<ObjectAccount> accounts_{};   // of all ranks
  std::vector<std::size_t> given_{};        // bytes of each given object that move in round two
  Buffer<std::byte> visible_{};             // in place of payload_
  std::unique_ptr<ObjectSource> source_{};  // of a streamed object at the root
  std::optional<Execution::CallPosition> later_{};  // position of the second round
};

}  // namespace tutti::v0::detail
