/// @file
/// The transport between ranks of one host.
#pragma once

#include <optional>

#include "incoming.hpp"

namespace tutti::shm {

/// A message is a slot on the queue to its receiver. A short one is eager: its payload goes with
/// it, through the slot itself or the ring of bytes, unless the receiver is too far behind with its
/// receives. A long one is a request. If the receiver sees its memory, it reads the message there.
/// Otherwise the sender stages the first bytes in its window, and the others once the receive is
/// posted. A communicator's messages move only in its own polls.
class ShmTransport final : public Transport {
 public:
  ShmTransport(std::shared_ptr<Domain> domain, std::uint64_t communicator,
               std::span<const Rank> members, std::shared_ptr<FailureSignal> failure_signal,
               const Options& options);

  [[nodiscard]] Rank self() const noexcept override { return peers_.self(); }
  [[nodiscard]] int size() const noexcept override { return peers_.size(); }
  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }
  [[nodiscard]] Duration now() const noexcept override { return Peers::now(); }
  void post(std::span<const Transfer> transfers) override;
  void poll() override;
  [[nodiscard]] std::byte* open_result(AccessId access, std::uint32_t ordinal,
                                       std::size_t bytes) override {
    return copies_.open_result(access, ordinal, bytes);
  }
  void signal(AccessId access, bool is_stored) override { copies_.signal(access, is_stored); }
  void idle_wait() override;
  void expect_idle_waits() override;
  void end_idle_wait() noexcept override { peers_.end_sleep(); }
  void find_unmatched(std::uint64_t pending, bool thoroughly) override;
  [[nodiscard]] std::optional<Unexpected> probe(Rank from, std::uint32_t tag) override;
  bool abort(const Error& cause) noexcept override;

 private:
  template <class Work>
  void run(Work work);
  void check() const;
  void progress(Peer& peer);
  [[nodiscard]] bool has_work();

  Capabilities capabilities_;
  bool waits_idle_;                 // whether this rank sleeps in idle_wait
  std::optional<Error> failure_{};  // the first thrown error
  std::uint32_t polls_ = 0;
  Peers peers_;
  Records records_{completions()};
  Outgoing outgoing_{peers_, records_};
  DirectCopies copies_{peers_, records_, outgoing_};
  Incoming incoming_{peers_, records_, outgoing_, copies_};
};

}  // namespace tutti::shm
