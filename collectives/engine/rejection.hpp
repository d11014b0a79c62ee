/// @file
/// A call that this rank does not make, since a layer above has rejected its arguments.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <tutti/call.hpp>

#include "collectives/execution/task.hpp"

namespace tutti::v0::detail {

class Engine;
class Execution;

/// Takes the place of the call. For a collective it takes the position, and sends nothing: ranks
/// that wait for its messages inquire about it. For a message it sends or receives one that matches
/// no other.
class Rejection final : public Task {
 public:
  /// @param call as reject_call. @return the task; null if the call's ranks or tag are wrong, so
  /// that no other rank can meet it.
  [[nodiscard]] static std::shared_ptr<Rejection> make(Engine& engine, const Call& call,
                                                       std::string_view reason);
  /// As make(), without its checks.
  Rejection(Engine& engine, const Call& call, std::string_view reason);

  void prepare() override;
  [[nodiscard]] std::uint32_t positions() const noexcept override { return is_message() ? 0 : 1; }
  void let_start() noexcept override { may_start_ = true; }
  void started() override {}
  void advance() override;
  void drop() noexcept override;
  void drop_pending() noexcept override { drop(); }
  [[nodiscard]] bool done() const noexcept override { return is_done_; }
  [[nodiscard]] std::optional<std::pair<Rank, int>> receives() const noexcept override {
    return std::nullopt;
  }
  void precede_receive(Rank from, int tag) override;

 private:
  [[nodiscard]] bool is_message() const noexcept {
    return call_.point_to_point != PointToPoint::none;
  }
  void note_message();
  [[nodiscard]] bool is_needed();
  void start_message();

  Engine& engine_;
  Call call_;
  std::string reason_;
  Execution* execution_ = nullptr;  // of a message
  bool may_start_ = false;
  bool has_started_ = false;
  bool is_done_ = false;
};

}  // namespace tutti::v0::detail
