/// @file
/// A rank of this host that does what a test says.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include <unistd.h>

#include "pair.hpp"

namespace tutti::shm {

/// @param seed of a message. @param bytes of it. @return its bytes, no two runs of which are alike.
inline std::vector<std::byte> message_of(std::uint32_t seed, std::size_t bytes) {
  std::vector<std::byte> message(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    seed = seed * 1664525 + 1013904223;
    message[i] = static_cast<std::byte>(seed >> 24);
  }
  return message;
}

/// Rank 0 is a transport; rank 1 is whatever a test writes into its queue to rank 0.
class Partner {
 public:
  static constexpr std::uint64_t kBytes = 200000;

  /// Rank 0 sends source(), and says so.
  void be_sent() {
    post(*transport_, Transfer::Kind::send, {&from_, 1});
    EXPECT_EQ(completed(*transport_), 0u);
    EXPECT_EQ(next(), Kind::request);
  }
  void ask_for(Range place) {
    set_body(slot(Kind::share, 0), Share{place, kOurs});
    out_.send();
  }
  void answer(Kind kind, bool is_there, std::uint32_t id = 0) {
    set_body(slot(kind, id), Answer{kOurs, is_there ? 1u : 0u});
    out_.send();
  }
  /// Rank 0 is to receive source(), which is sent if it is asked for. @return what rank 0 says.
  Kind send() {
    received_.assign(kBytes, std::byte{0});
    post(*transport_, Transfer::Kind::recv, {&to_, 1});
    request();
    const std::size_t done = completed(*transport_);
    const Kind kind = next();
    EXPECT_EQ(done, kind == Kind::done ? 1u : 0u);
    for (std::uint64_t moved = 0; kind == Kind::grant && moved < kBytes; moved += kBytes / 4) {
      Extent extent{};
      EXPECT_TRUE(out_.find_room(kBytes / 4, extent));
      std::memcpy(out_.at(extent), source_.data() + moved, kBytes / 4);
      set_body(slot(Kind::chunk, 0), extent);
      out_.commit_room(extent);
      out_.send();
      (void)completed(*transport_);
    }
    return kind;
  }
  /// Sends, and is asked to write. @return where.
  Range be_asked() {
    EXPECT_EQ(send(), Kind::share);
    return body<Share>().destination;
  }
  /// @return the kind of the slot that rank 0 has sent next.
  Kind next() {
    if (!in_.attached()) in_ = receive_end();
    EXPECT_TRUE(in_.has_slot());
    const Slot& slot = in_.slot();
    const Kind kind = slot.kind;
    EXPECT_EQ(slot.id, kind == Kind::request || kind == Kind::buffered ? 0 : kOurs);
    std::memcpy(body_.data(), slot.body, kInlineBytes);
    if (kind == Kind::buffered) payload_ = in_.at(body<Buffered>().extent);
    in_.consume();
    if (kind != Kind::buffered) return kind;
    in_.consume(body<Buffered>().extent);
    in_.count_match(body<Buffered>().bytes);
    return kind;
  }
  /// @tparam Body of the slot that next() saw last. @return it.
  template <class Body>
  [[nodiscard]] Body body() const {
    Body body;
    std::memcpy(&body, body_.data(), sizeof body);
    return body;
  }
  /// @return what rank 0 has done by now, or its error.
  std::size_t done() { return completed(*transport_); }
  /// @return whether rank 0 says that it writes into our memory.
  [[nodiscard]] bool is_written_to() const { return consumed_->storing.load() != 0; }
  /// Rank 0 sends a message of so many bytes.
  void be_sent(std::size_t bytes) {
    short_ = {source_.data(), bytes};
    post(*transport_, Transfer::Kind::send, {&short_, 1});
    (void)completed(*transport_, 1);
    EXPECT_EQ(next(), Kind::buffered);
  }
  /// Rank 0 receives a message of so many bytes, and so gets to know what we have consumed.
  void be_known(std::size_t bytes = 100) {
    short_ = {received_.data(), bytes};
    post(*transport_, Transfer::Kind::recv, {&short_, 1});
    Extent extent{};
    ASSERT_TRUE(out_.find_room(bytes, extent));
    set_body(slot(Kind::buffered, 0), Buffered{extent, bytes});
    out_.commit_room(extent);
    out_.send();
    EXPECT_EQ(completed(*transport_), 1u);
  }
  /// @return the bytes of the buffered message that next() saw last.
  [[nodiscard]] const std::byte* payload() const { return payload_; }
  void give_up() {
    find_entry(front_of(host_.segment(1).mapping()), 1)->state.store(Entry::failed);
  }
  [[nodiscard]] const std::vector<std::byte>& source() const { return source_; }
  [[nodiscard]] const std::vector<std::byte>& received() const { return received_; }
  /// @return where the bytes are that are received.
  [[nodiscard]] std::uint64_t where() const {
    return reinterpret_cast<std::uint64_t>(received_.data());
  }

 private:
  static constexpr std::uint32_t kOurs = 77;

  Slot& slot(Kind kind, std::uint32_t id) {
    Slot& slot = out_.slot();
    slot.kind = kind;
    slot.tag = 0;
    slot.id = id;
    slot.alone = 1;
    slot.fingerprint = 0;
    slot.access = AccessMode::process;
    return slot;
  }
  void request() {
    Request request{.bytes = kBytes, .ranges = {}};
    const Range range{reinterpret_cast<std::uint64_t>(source_.data()), kBytes};
    ASSERT_TRUE(out_.find_room(sizeof range, request.ranges));
    std::memcpy(out_.at(request.ranges), &range, sizeof range);
    set_body(slot(Kind::request, kOurs), request);
    out_.commit_room(request.ranges);
    out_.send();
  }
  const Consumed* attach() {
    const Mapping& theirs = host_.segment(0).mapping();
    const Consumed* const consumed =
        consumed_of(theirs, find_entry(front_of(theirs), 1)->block.load(), 1);
    out_.attach(consumed);
    return consumed;
  }
  ReceiveEnd receive_end() {
    const Mapping& theirs = host_.segment(0).mapping();
    const std::uint64_t block = find_entry(front_of(theirs), 1)->block.load();
    QueueMemory queue = queue_of(theirs, block, 1);
    queue.consumed = consumed_of(host_.segment(1).mapping(), block_, 0);
    return ReceiveEnd{queue};
  }

  Host host_{2, getpid()};
  std::vector<std::byte> source_ = message_of(1, kBytes);
  std::vector<std::byte> received_ = std::vector<std::byte>(kBytes);
  Piece from_{source_.data(), kBytes};
  Piece to_{received_.data(), kBytes};
  std::unique_ptr<Transport> transport_ = host_.transport(0);
  std::uint64_t block_ = host_.domain(1).open(1, kBoth);
  SendEnd out_{whole_queue(host_, 1, block_, 0)};
  const Consumed* consumed_ = attach();
  ReceiveEnd in_{};  // until rank 0 has sent something
  Piece short_{};
  const std::byte* payload_ = nullptr;
  std::array<std::byte, kInlineBytes> body_{};
};

}  // namespace tutti::shm
