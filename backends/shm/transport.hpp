/// @file
/// The transport between ranks of one host.
#pragma once

#include <optional>
#include <vector>

#include <tutti/spi/pieces.hpp>

#include "copy_tuner.hpp"
#include "domain.hpp"
#include "payload.hpp"
#include "process_copies.hpp"

namespace tutti::shm {

/// A message is a slot on the queue to its receiver. Up to kEager bytes its payload goes with it,
/// through the slot itself or the ring of bytes, as long as the receiver is not too far behind with
/// its receives; otherwise the slot is a request, and the bytes go once the receive is there: they
/// are read where they lie, if the receiver may look there, or come in chunks through the ring.
/// A communicator's messages move by its own polls alone.
class ShmTransport final : public Transport {
 public:
  ShmTransport(std::shared_ptr<Domain> domain, std::uint64_t communicator,
               std::span<const Rank> members, std::shared_ptr<FailureSignal> failure_signal,
               const Options& options);
  ~ShmTransport() override;

  [[nodiscard]] Rank self() const noexcept override { return self_; }
  [[nodiscard]] int size() const noexcept override { return static_cast<int>(members_.size()); }
  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }
  [[nodiscard]] Duration now() const noexcept override;
  void post(std::span<const Transfer> transfers) override;
  void poll() override;
  [[nodiscard]] std::byte* open_result(AccessId access, std::uint32_t ordinal,
                                       std::size_t bytes) override;
  void signal(AccessId access, bool is_stored) override;
  void idle_wait() override;
  void expect_idle_waits() override { waits_idle_ = true; }
  void end_idle_wait() noexcept override;
  void find_unmatched(std::uint64_t pending, bool thoroughly) override;
  [[nodiscard]] std::optional<Unexpected> probe(Rank from, std::uint32_t tag) override;
  bool abort(const Error& cause) noexcept override;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr const char* kGaveUp = "has given its operations up";
  // How the bytes of a message are taken.
  enum class PayloadPath : std::uint8_t {
    stream,  // they come through the ring, which both ranks copy at a time
    read,    // the receiver reads them where they lie
    share    // the receiver reads the first of them, the sender writes the others, at a time
  };
  // A transfer that is not done. Records are numbered, for the other side to name them.
  struct Record {
    Transfer transfer{};
    std::uint64_t bytes = 0;
    std::uint64_t moved = 0;
    Cursor cursor{};
    std::uint32_t theirs = 0;  // the other side's number for it
    InPlace in_place{};        // of a message that stays
    bool in_use = false;
    bool is_exchanged = false;  // its sender has something else to do meanwhile
    bool is_streamed = false;   // it was granted
    bool is_left = false;       // where the sender has it
    bool is_storing = false;    // the result, where the sender wants it
    Range rest{};               // what its sender writes: of a send, where; of a receive, how much
    PayloadPath path = PayloadPath::stream;
  };
  // What a slot says of a message.
  struct Message {
    std::uint32_t tag = 0;
    std::uint32_t id = 0;  // of a request: the sender's record
    std::uint64_t fingerprint = 0;
    std::uint64_t bytes = 0;
    bool is_request = false;
    bool is_alone = false;
    AccessMode access{};
    InPlace in_place{};
  };
  // The bytes of a message that has come as a whole.
  struct Whole {
    std::span<const std::byte> payload{};
    Extent extent{};  // in the ring of bytes, if they are there
  };
  // A message that came before its receive, with its bytes, or the ranges of its request.
  struct Arrival {
    Message message{};
    Payload payload{};
    std::vector<Range> ranges{};
  };
  // Bytes that we read where they lie.
  struct Pull {
    std::uint32_t record = 0;
    AccessMode access{};
    std::vector<Range> ranges{};
    std::size_t range = 0;
    std::uint64_t offset = 0;
  };
  struct Answering {
    Kind kind;
    std::uint32_t theirs;
    std::uint32_t ours;
    bool is_there = false;
  };
  struct Peer {
    const Domain::Member* member = nullptr;
    Entry* entry = nullptr;                    // what its process says of the communicator
    std::uint32_t silent = 0;                  // polls since its last slot
    Duration suspected{0};                     // since when it looks as if it were gone
    Consumed* consumed_here = nullptr;         // by us, of its messages
    const Consumed* consumed_there = nullptr;  // by it, of ours
    SendEnd out{};
    ReceiveEnd in{};
    std::uint32_t awaited = 0;              // slots of its we have reason to look for
    std::uint32_t partial = kNone;          // record of a receive that has come in part
    std::vector<std::uint32_t> receives{};  // records, in the order posted
    std::vector<Arrival> arrivals{};        // in the order sent
    std::vector<std::uint32_t> waiting{};   // records of sends that found no room
    std::vector<Answering> answers{};       // that found no room
    std::vector<std::uint32_t> streams{};   // records of granted sends
    std::vector<Pull> pulls{};
    std::vector<std::uint32_t> pushes{};  // records of sends whose last bytes we write
    bool may_share = true;                // it can write into our memory, as far as is known
    CopyTuner copy_tuner{};               // of what we write into the ring
    [[nodiscard]] bool idle() const noexcept {
      return awaited == 0 && waiting.empty() && answers.empty() && streams.empty() &&
             pulls.empty() && pushes.empty();
    }
  };

  void post_all(std::span<const Transfer> transfers);
  Peer& peer_of(const Transfer& transfer);
  void attach(Peer& peer);
  void open_queue(Peer& peer, QueuePart part);
  void progress(Peer& peer);
  void look_for_end(Peer& peer);
  void find_unmatched_of(Peer& peer, std::uint64_t pending);
  [[nodiscard]] std::optional<Unexpected> probe_peer(Rank from, std::uint32_t tag);
  void suspect(Peer& peer, const char* what) const;
  void wake(Peer& peer) noexcept;
  [[nodiscard]] bool has_something_to_do();
  [[nodiscard]] std::uint32_t add_record(const Transfer& transfer, std::uint64_t bytes);
  [[nodiscard]] Record& record_of(std::uint32_t id);
  void finish(std::uint32_t id, bool is_stored = false);

  // Sending: send.cpp.
  void post_send(Peer& peer, const Transfer& transfer, std::uint64_t bytes);
  [[nodiscard]] bool send_small(Peer& peer, const Transfer& transfer, std::uint64_t bytes);
  [[nodiscard]] bool send_buffered(Peer& peer, const Transfer& transfer, std::uint64_t bytes);
  [[nodiscard]] bool send_request(Peer& peer, std::uint32_t id);
  [[nodiscard]] bool may_be_early(Peer& peer, const Transfer& transfer,
                                  std::uint64_t bytes) noexcept;
  [[nodiscard]] bool is_in_place(const Transfer& transfer) const noexcept;
  [[nodiscard]] InPlace places_of(const Transfer& transfer) const noexcept;
  [[nodiscard]] bool list_ranges(Peer& peer, const Record& record, AccessMode access,
                                 Request& request);
  void send_answer(Peer& peer, const Answering& answering);
  void send_waiting(Peer& peer);
  void send_chunks(Peer& peer);
  void put(Peer& peer, Cursor& cursor, const Extent& extent) const;
  [[nodiscard]] bool may_send(Peer& peer);

  // Which way a message takes: way.cpp.
  [[nodiscard]] bool is_visible(const Transfer& transfer) const noexcept;
  [[nodiscard]] AccessMode access_for(const Record& record) const noexcept;
  [[nodiscard]] PayloadPath path_of(const Peer& peer, const Record& record, const Message& message,
                                    std::size_t ranges) const;

  // Messages that both ranks copy at a time: share.cpp.
  void ask_for_rest(Peer& peer, Record& record, std::uint32_t id, Range& first);
  void take_share(Peer& peer, const Slot& slot);
  void push_all(Peer& peer);
  [[nodiscard]] bool push_some(Peer& peer, Record& record);
  void take_stored(Peer& peer, const Slot& slot);

  // Receiving: receive.cpp, and whole.cpp for messages that come with one slot.
  void post_receive(Peer& peer, const Transfer& transfer, std::uint64_t bytes);
  void read_slots(Peer& peer);
  [[nodiscard]] static bool find_whole(Peer& peer, const Slot& slot, Whole& whole);
  [[nodiscard]] bool take_at_once(Peer& peer, const Transfer& transfer, std::uint64_t bytes);
  void give_whole(Peer& peer, const Transfer& transfer, const Whole& whole);
  [[nodiscard]] bool take_whole(Peer& peer, const Slot& slot);
  void take_message(Peer& peer, const Slot& slot);
  void read_ranges(std::span<const std::byte> list);
  void keep(Peer& peer, const Message& message, std::span<const std::byte> payload);
  void take_bytes(Peer& peer, std::uint32_t id, std::span<const std::byte> payload);
  void take_more(Peer& peer, const Slot& slot);
  void take_chunk(Peer& peer, const Slot& slot);
  void take_answer(Peer& peer, const Slot& slot);
  void deliver(Record& record, std::span<const std::byte> bytes);
  void grant(Peer& peer, std::uint32_t id, const Message& message, std::span<const Range> ranges);
  void pull_all(Peer& peer);
  void pull_some(Peer& peer, Pull& pull, Record& record);
  [[nodiscard]] std::size_t pull_from_process(Peer& peer, const Range& range, Record& record);
  void leave(Peer& peer, std::uint32_t id, const Message& message, const Range& range);
  [[nodiscard]] bool may_touch(const Peer& peer) const noexcept;
  [[nodiscard]] std::uint32_t find_receive(Peer& peer, std::uint32_t tag);
  void check(const Peer& peer, const Transfer& transfer, std::uint64_t bytes,
             std::uint64_t fingerprint, std::uint64_t their_bytes) const;
  void meet(const Peer& peer, Record& record, const Message& message) const;

  std::shared_ptr<Domain> domain_;
  std::uint64_t communicator_;
  std::vector<Rank> members_;
  std::shared_ptr<FailureSignal> failure_signal_;
  std::optional<Error> failure_{};  // what post or poll threw
  Capabilities capabilities_{};
  Rank self_ = 0;
  bool crowded_ = false;  // ranks outnumber cores
  bool waits_idle_ = false;  // ranks sleep, and wake each other
  Duration idle_wait_;       // as Options
  std::uint64_t block_ = 0;
  Entry* entry_ = nullptr;
  std::vector<Peer> peers_{};
  std::vector<Record> records_{};
  std::vector<std::uint32_t> free_records_{};
  std::size_t outgoing_ = 0;  // sends that are not done
  bool is_alone_ = false;     // the transfer posted last has nothing beside it
  std::uint32_t polls_ = 0;
  Rank next_probed_ = 0;                   // of all ranks the first
  std::vector<Range> ranges_{};            // of the request at hand
  ProcessCopies process_copies_{};
  std::vector<Arrival> spare_arrivals_{};  // kept, so that their memory is used again
  std::vector<Pull> spare_pulls_{};
};

}  // namespace tutti::shm
