/// @file
/// The transport over MPI.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <tutti/spi/failure_signal.hpp>

#include "detached_sends.hpp"
#include "early_messages.hpp"
#include "notice.hpp"
#include "payload.hpp"

namespace tutti::v0::mpi {

/// The longest wait for sends at the end. A send that no receive matches never ends, and no rank
/// reads or writes its bytes.
inline constexpr Duration kSendPatience = std::chrono::milliseconds{100};

/// The longest wait of a rank that ends a communicator for the other ranks to end it too.
inline constexpr Duration kEndPatience = std::chrono::milliseconds{100};

/// Tests requests until none is active or the patience ends. Their statuses no longer matter.
/// @return whether none is active.
bool drain(std::vector<MPI_Request>& requests, Duration patience);

/// A transfer is one MPI message, header and payload, on the transfer's tag. A payload of more than
/// kInlineBytes follows in messages of its own, on a tag from the upper half of the MPI's that the
/// header names. The receiver posts receives for them only after it has checked the header. So
/// pieces are never written by another call's message, and no message meets a receive that is too
/// short, in which case Open MPI 4.1 crashes.
///
/// The communicator is freed if all ranks end their transports within kEndPatience of each other,
/// and none has failed. Otherwise it is kept until the MPI ends. MPICH has about 2,000 of them.
class MpiTransport final : public Transport {
 public:
  /// @param ranks from gather_ranks; the communicator in it is owned from now on.
  /// @param failure_signal of the communicator, or null. It informs the ranks of failures, and
  /// knows more of them than the MPI, so an error of the MPI waits for it for a moment. @param
  /// has_notices whether the ranks inform each other by notices too, since the signal is not raised
  /// on all of them.
  MpiTransport(const Ranks& ranks, const Options& options,
               std::shared_ptr<FailureSignal> failure_signal = nullptr, bool has_notices = true);
  ~MpiTransport() override;

  [[nodiscard]] Rank self() const noexcept override { return ranks_.self; }
  [[nodiscard]] int size() const noexcept override { return ranks_.size; }
  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }
  [[nodiscard]] Duration now() const noexcept override { return time_now(); }
  void post(std::span<const Transfer> transfers) override;
  void poll() override;
  [[nodiscard]] std::optional<Unexpected> probe(Rank from, std::uint32_t tag) override;
  // An MPI wakes no thread that sleeps.
  void idle_wait() override { std::this_thread::sleep_for(kShortSleep); }
  bool abort(const Error& cause) noexcept override;

 private:
  static constexpr std::chrono::microseconds kShortSleep{50};
  // Memory that the MPI may read or write at any time. If the MPI cannot be stopped, it is leaked
  // on purpose, so that a late message is never written to memory that has another use by then.
  struct Backing {
    explicit Backing(std::size_t chunk_bytes) noexcept : receive_buffers{chunk_bytes} {}
    BufferPool pool{};
    ReceiveBuffers receive_buffers;
    Notice notice{};
  };

  void post_one(const Transfer& transfer);
  void post_send(const Transfer& transfer, std::uint64_t bytes);
  [[nodiscard]] bool leaves(MPI_Request& request, Rank peer, std::byte* buffer, std::size_t count);
  void post_receive(const Transfer& transfer, std::uint64_t bytes);
  [[nodiscard]] bool receive_early(const Transfer& transfer, std::uint64_t bytes,
                                   ReceiveBuffer* receive_buffer);
  [[nodiscard]] bool receive_probed(const Transfer& transfer, std::byte* buffer,
                                    MPI_Status& status) const;
  void receive_first(const Transfer& transfer, std::uint64_t bytes, std::byte* buffer,
                     const MPI_Status& status);
  void open(PostedTransfer& message, const MPI_Status& status);
  void advance(Owner owner, const MPI_Status& status);

  void look_for_notice();
  void check_failure() const;
  void fail(const Error& error);
  /// Whether this rank has failed, or the signal reports a failed rank.
  [[nodiscard]] bool has_failed() const noexcept {
    return failure_ || (failure_signal_ && failure_signal_->is_raised());
  }
  /// Whether this process is a forked child of the one with the MPI; false without a signal.
  [[nodiscard]] bool is_forked() const noexcept {
    return failure_signal_ && failure_signal_->is_forked();
  }
  [[nodiscard]] bool stop(const Error& cause);
  [[nodiscard]] bool all_ended_well() const noexcept;

  Ranks ranks_;
  std::shared_ptr<FailureSignal> failure_signal_;  // or null
  Capabilities capabilities_;
  std::unique_ptr<Backing> backing_;
  PostedTransfers messages_;
  Requests requests_;
  Payloads payloads_;
  EarlyMessages early_;
  DetachedSends detached_sends_{};
  EndedSends ended_;
  std::uint32_t next_payload_ = 0;  // counts long messages sent
  std::uint32_t empty_polls_ = 0;
  std::optional<Error> failure_{};  // the first cause
  Duration failed_{0};              // its time, if the signal may know more of it
  bool has_notices_;
  bool is_announced_;  // whether the other ranks are informed of the failure in another way
  bool aborted_ = false;
  bool quiet_ = false;  // after an abort: whether no peer can write any more
};

}  // namespace tutti::v0::mpi
