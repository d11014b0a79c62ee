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

/// A send that no receiver has matched never ends; nobody reads or writes its bytes either.
inline constexpr Duration kSendPatience = std::chrono::milliseconds{100};

/// Ranks end a communicator at about the same time. One that is early does not wait for longer.
inline constexpr Duration kEndPatience = std::chrono::milliseconds{100};

/// Tests requests until none is active or the patience ends. Their statuses no longer matter.
/// @return whether none is active.
bool drain(std::vector<MPI_Request>& requests, Duration patience);

/// A transfer is one MPI message, header and payload, on the transfer's tag. Where the payload is
/// more than kInlineBytes it follows in messages of its own, on a tag from the upper half of the
/// MPI's that the header names. The receiver posts receives for them only once the header has been
/// found right: so pieces are never written by another call's message, and a message never meets a
/// receive that is too short, which Open MPI 4.1 answers with a crash.
///
/// The communicator is freed where all ranks end their transports within kEndPatience of each other
/// and none has failed. Otherwise it is kept until the MPI ends, of which MPICH has about 2,000.
class MpiTransport final : public Transport {
 public:
  /// @param ranks from gather_ranks; the communicator in it is owned from now on.
  /// @param options see Options. @param failure_signal of the communicator: it informs the ranks of
  /// failures, and knows more of them than the MPI, so errors of the MPI wait for it for a moment.
  /// May be null. @param has_notices whether the ranks inform each other by notices too, since the
  /// signal is not raised on all of them.
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
  // No thread that sleeps is woken by an MPI.
  void idle_wait() override { std::this_thread::sleep_for(kShortSleep); }
  bool abort(const Error& cause) noexcept override;

 private:
  static constexpr std::chrono::microseconds kShortSleep{50};
  // Memory that the MPI may read or write at any time. Where it cannot be stopped it is leaked, on
  // purpose, so that a late message never lands in memory that has another use by then.
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
  void open(Message& message, const MPI_Status& status);
  void advance(Owner owner, const MPI_Status& status);

  void look_for_notice();
  void check_failure() const;
  void fail(const Error& error);
  /// Whether this rank has failed, or another one of which the signal informs.
  [[nodiscard]] bool has_failed() const noexcept {
    return failure_ || (failure_signal_ && failure_signal_->is_raised());
  }
  /// Whether this process is a child of the one whose MPI it is, as far as the signal knows.
  [[nodiscard]] bool is_forked() const noexcept {
    return failure_signal_ && failure_signal_->is_forked();
  }
  [[nodiscard]] bool stop(const Error& cause);
  [[nodiscard]] bool all_ended_well() const noexcept;

  Ranks ranks_;
  std::shared_ptr<FailureSignal> failure_signal_;  // or null
  Capabilities capabilities_;
  std::unique_ptr<Backing> backing_;
  Messages messages_;
  Requests requests_;
  Payloads payloads_;
  EarlyMessages early_;
  DetachedSends detached_sends_{};
  EndedSends ended_;
  std::uint32_t next_payload_ = 0;  // counts long messages sent
  std::uint32_t empty_polls_ = 0;
  std::optional<Error> failure_{};  // the first cause
  Duration failed_{0};              // when that was, where the signal may know more of it
  bool has_notices_;
  bool is_announced_;  // whether the other ranks learn of the failure in another way
  bool aborted_ = false;
  bool quiet_ = false;  // once aborted: whether no peer can write any more
};

}  // namespace tutti::v0::mpi
