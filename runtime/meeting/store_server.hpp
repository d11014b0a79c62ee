/// @file
/// Rank 0 of the store.
#pragma once

#include <poll.h>

#include <map>

#include "acceptor.hpp"
#include "store.hpp"
#include "store_frame.hpp"

namespace tutti::runtime {

/// @param options of rank 0; a port of 0 is replaced by the chosen one. @param deadline of looking
/// up the host. Throws Error as open_store.
[[nodiscard]] std::vector<Listener> listen_for_ranks(StoreOptions& options, Deadline deadline);

/// Rank 0's channel: collects the values of all ranks, and sends them, or an error, to all.
class StoreServer final : public Channel {
 public:
  /// @param listeners at least one, bound. Throws Error{transport}.
  StoreServer(StoreOptions options, std::vector<Listener> listeners);

  [[nodiscard]] Rank rank() const noexcept override { return 0; }
  [[nodiscard]] int size() const noexcept override { return options_.size; }
  [[nodiscard]] std::string describe() const override { return url_of(options_); }
  [[nodiscard]] bool is_private() const noexcept override { return !options_.local_name.empty(); }
  [[nodiscard]] std::vector<std::string> all_gather(std::string_view own,
                                                    Deadline deadline) override;

 private:
  /// Another rank, connected or not.
  struct StorePeer {
    Descriptor socket{};
    bool has_joined = false;
    std::string host{};
    frame::Header header{};
    std::size_t header_bytes = 0;
    std::string content{};
    std::size_t content_bytes = 0;
    std::optional<std::string> value{};
    std::size_t sent = 0;
  };

  [[nodiscard]] Reason admit(const ConnectionRequest& request);
  void record(const RefusedPeer& refused);
  void collect();
  [[noreturn]] void throw_poll_error(int error) const;
  void fail_if_refused();
  void accept_ranks();
  void receive_from(Rank rank);
  bool fill(Rank rank, std::span<std::byte> room, std::size_t& filled);
  void begin_content(Rank rank);
  void end_content(Rank rank);
  void send_to_all(const std::string& message, Deadline deadline);
  void await_close(Deadline deadline) noexcept;
  bool send_rest(StorePeer& peer, const std::string& message) noexcept;
  [[nodiscard]] std::string gathered() const;
  [[nodiscard]] Error missing_ranks_error() const;
  [[nodiscard]] Error lost_rank_error(Rank rank) const;

  const StoreOptions options_;
  bool needs_secret_ = false;  // for ranks of other hosts
  std::optional<Acceptor> acceptor_;
  std::vector<StorePeer> peers_;  // index 0 is this rank
  std::vector<pollfd> polled_;
  std::uint32_t round_ = 0;
  std::map<Rank, RefusedPeer> refused_peers_{};  // by the ranks that they claim
  Deadline refused_until_ = Deadline::max();     // then they fail the job if a rank is missing
  Deadline start_{};
  Deadline deadline_{};
  std::optional<Error> failed_;
};

}  // namespace tutti::runtime
