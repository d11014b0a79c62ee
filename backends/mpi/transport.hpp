/// @file
/// The transport over MPI.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <tutti/spi/failure_signal.hpp>

#include "detached_sends.hpp"
#include "message.hpp"
#include "notice.hpp"
#include "ranks.hpp"
#include "receive_buffer.hpp"

namespace tutti::v0::mpi {

/// A send that no receiver has matched never ends; nobody reads or writes its bytes either.
inline constexpr Duration kSendPatience = std::chrono::milliseconds{100};

/// Ranks end a communicator at about the same time. One that is early does not wait for longer.
inline constexpr Duration kEndPatience = std::chrono::milliseconds{100};

/// Tests requests until none is active or the patience ends. What they report no longer matters.
/// @return whether none is active.
bool drain(std::vector<MPI_Request>& requests, Duration patience);

/// A transfer is one MPI message, header and payload, on the transfer's tag. Where the payload is
/// more than kInlineBytes it follows in messages of its own, on a tag from the upper half of the
/// MPI's that the header names. The receiver posts receives for them only once the header has been
/// found right: so pieces are never written by another call's message, and a message never meets a
/// receive that is too short, which Open MPI 4.1 answers with a crash.
///
/// A combiner is given such a payload from two chunks that lie in the cache (ReceiveBuffer),
/// kWindow others are under way at once.
///
/// The communicator is freed where all ranks end their transports within kEndPatience of each other
/// and none has failed. Otherwise it is kept until the MPI ends, of which MPICH has about 2,000.
class MpiTransport final : public Transport {
 public:
  /// @param ranks from gather_ranks; the communicator in it is owned from now on.
  /// @param options see Options. @param alarm of the communicator: it tells the ranks of failures,
  /// and knows more of them than the MPI, so what that reports waits for it for a moment. May be
  /// null. @param has_notices whether the ranks tell each other by notices too, since the alarm
  /// does not go off on all of them.
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
  void expect_idle_waits() override { waits_idle_ = true; }
  void idle_wait() override {
    if (waits_idle_) std::this_thread::sleep_for(kShortSleep);
    else std::this_thread::yield();
  }
  bool abort(const Error& cause) noexcept override;

 private:
  static constexpr std::chrono::microseconds kShortSleep{50};
  // A transfer under way. Its MPI requests are in requests_, with its index in owners_.
  struct Message {
    Transfer transfer;
    std::uint64_t bytes;
    std::byte* buffer;  // of the first MPI message
    ReceiveBuffer*
        receive_buffer;  // of a receive that combines, whose payload does not fit the first one
    std::uint32_t remaining = 0;  // MPI requests not yet complete
    PayloadTag tag = 0;           // of the payload
    Cutter cutter{};              // what is left of it

    [[nodiscard]] bool fits_first() const noexcept { return bytes <= kInlineBytes; }
    [[nodiscard]] bool is_staged() const noexcept {
      return !fits_first() && bytes <= kStagedBytes && transfer.pieces.size() > 1 &&
             receive_buffer == nullptr;
    }
    void unpack_buffer() const;
  };
  struct Owner {
    std::uint32_t message;  // index into messages_
    bool header;            // whether the request receives or sends the first MPI message
    std::uint8_t half;      // of the landing where it receives into one
  };
  // A first message that was found before its receive was posted.
  struct Early {
    Rank from;
    std::uint32_t tag;
    std::byte* buffer;  // of the pool
    MPI_Status status;
  };
  // What MPI may write to or read from behind our back. Where MPI cannot be stopped it is leaked,
  // on purpose, so that a late message never lands in memory that has another use by then.
  struct Backing {
    explicit Backing(std::size_t chunk_bytes) noexcept : landings{chunk_bytes} {}
    BufferPool pool{};
    Landings landings;
    Notice notice{};
  };

  void make_room(std::size_t requests);
  void make_message_room();
  void post_one(const Transfer& transfer);
  void post_send(const Transfer& transfer, std::uint64_t bytes);
  [[nodiscard]] bool leaves(MPI_Request& request, Rank peer, std::byte* buffer, std::size_t count);
  void post_receive(const Transfer& transfer, std::uint64_t bytes);
  [[nodiscard]] bool is_there(MPI_Request& request, const Transfer& transfer);
  [[nodiscard]] bool take_probed(const Transfer& transfer, std::byte* buffer);
  [[nodiscard]] bool take_early(const Transfer& transfer, std::uint64_t bytes);
  [[nodiscard]] std::optional<Unexpected> find_early(Rank from, std::uint32_t tag);
  void take_first(const Transfer& transfer, std::uint64_t bytes, std::byte* buffer);
  static void unpack_first(const Transfer& transfer, const std::byte* data, std::uint64_t bytes);
  /// Payload bytes of one message of a call that reduces.
  [[nodiscard]] std::size_t warm_bytes() const noexcept {
    return std::min(options_.chunk_bytes, kWarmBytes);
  }
  void post_payload(std::uint32_t index, PayloadTag tag);
  void post_staged(std::uint32_t index);
  void post_chunks(std::uint32_t index);
  void post_chunk(std::uint32_t index, Cutter::Chunk chunk, unsigned half);
  void advance(Owner owner);
  void check_first(const Transfer& transfer, std::uint64_t bytes, const std::byte* buffer,
                   const MPI_Status& status) const;
  void open(std::uint32_t index, const MPI_Status& status);
  [[nodiscard]] std::uint32_t add_message(const Message& message) noexcept;
  void add_request(MPI_Request request, Owner owner);

  void progress();
  void progress_many();
  void finish(Owner owner, const MPI_Status& status);
  void look_for_notice();
  void check_failure() const;
  void fail(const Error& error);
  /// Whether this rank has failed, or another one that the alarm tells of.
  [[nodiscard]] bool has_failed() const noexcept {
    return failure_ || (failure_signal_ && failure_signal_->is_raised());
  }
  /// Whether this process is a child of the one whose MPI it is, if there is an alarm to tell.
  [[nodiscard]] bool is_forked() const noexcept {
    return failure_signal_ && failure_signal_->is_forked();
  }
  [[nodiscard]] bool stop(const Error& cause);
  [[nodiscard]] bool all_ended_well() const noexcept;

  Ranks ranks_;
  Options options_;
  std::shared_ptr<FailureSignal> failure_signal_;  // or null
  Capabilities capabilities_;
  std::unique_ptr<Backing> backing_;
  std::vector<Message> messages_{};
  std::vector<std::uint32_t> free_messages_{};
  std::vector<MPI_Request> requests_{};  // active ones, oldest first
  std::vector<Owner> owners_{};          // of requests_
  std::vector<int> indices_{};           // for MPI_Testsome
  std::vector<MPI_Status> statuses_{};   // for MPI_Testsome
  std::vector<Early> early_{};           // in the order found
  DetachedSends detached_sends_{};
  EndedSends ended_;
  Scattered scattered_{};
  std::uint32_t next_payload_ = 0;  // counts long messages sent
  std::uint32_t empty_polls_ = 0;
  std::optional<Error> failure_{};  // the first cause
  Duration failed_{0};              // when that was, where the alarm may know more of it
  bool has_notices_;
  bool waits_idle_ = false;
  bool told_;  // whether the other ranks hear of it in another way
  bool aborted_ = false;
  bool quiet_ = false;  // once aborted: whether no peer can write any more
};

}  // namespace tutti::v0::mpi
