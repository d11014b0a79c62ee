// A rank of the host whose process has gone wrong writes nonsense: an error, and nothing else.
#include <cstring>
#include <functional>
#include <thread>

#include "pair.hpp"

namespace tutti::shm {
namespace {

constexpr std::size_t kExpected = 100000;  // bytes of the message that rank 0 waits for
constexpr std::size_t kSent = std::size_t{4}
                              << 20;  // of the one that it sends, which no piece holds

/// Rank 0 is a transport; rank 1 is whatever a test writes into its queue to rank 0.
class Hostile {
 public:
  Hostile() {
    post(*transport_, Transfer::Kind::recv, {&pieces_[0], 1});
    post(*transport_, Transfer::Kind::send, {&pieces_[1], 1});
  }

  [[nodiscard]] SendEnd& out() { return out_; }
  /// @param kind of the slot that is sent next. @param id that it names. @return it.
  Slot& slot(SlotType kind, std::uint32_t id = 0) {
    Slot& slot = out_.slot();
    slot.kind = kind;
    slot.tag = 0;
    slot.id = id;
    slot.fingerprint = 0;
    slot.access = AccessMode::staged;
    return slot;
  }
  /// Rank 0 posts one more receive. @param tag of it. @param bytes of it, kExpected at most.
  void receive(std::uint32_t tag, std::size_t bytes) {
    more_ = {more_bytes_.data(), bytes};
    const Transfer transfer{
        .kind = Transfer::Kind::recv, .peer = 1, .tag = tag, .pieces = {&more_, 1}};
    transport_->post({&transfer, 1});
  }
  /// Sends a request. @param way of it. @param bytes that it says. @param ranges that it lists.
  void request(AccessMode access, std::uint64_t bytes, std::vector<Range> ranges) {
    Request request{.bytes = bytes, .ranges = {}, .first = {}};
    ASSERT_TRUE(out_.find_room(ranges.size() * sizeof(Range), request.ranges));
    if (!ranges.empty())
      std::memcpy(out_.at(request.ranges), ranges.data(), ranges.size() * sizeof(Range));
    Slot& next = slot(SlotType::request);
    next.access = access;
    set_body(next, request);
    out_.commit_room(request.ranges);
    out_.send();
  }
  /// @param offset of its memory, or 0 for memory of its own. @return the memory.
  std::byte* open_window(std::uint64_t offset = 0) {
    const Mapping& mapping = host_.segment(1).mapping();
    if (offset == 0) offset = host_.domain(1).extend(1, window_bytes(mapping, block_));
    set_window(mapping, block_, offset);
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(mapping.base()) +
                                        offset);  // any address
  }
  /// @return the error with which rank 0 fails, which it must and which must stay.
  ErrorCode failure() {
    try {
      // A peer that may be dead is given some time.
      for (int i = 0; i < 1000 && completed(*transport_) == 0; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    } catch (const Error& error) {
      EXPECT_THROW(completed(*transport_, 1), Error);
      EXPECT_EQ(expected_, std::vector<std::byte>(expected_.size())) << error.what();
      return error.code();
    }
    ADD_FAILURE() << "no error";
    return ErrorCode::bug;
  }
  /// @return whether rank 0 goes on.
  std::size_t goes_on() { return completed(*transport_); }
  [[nodiscard]] std::vector<std::byte>& expected() { return expected_; }

 private:
  Host host_{2, {.reads_processes = false}};
  std::vector<std::byte> expected_ = std::vector<std::byte>(kExpected);
  std::vector<std::byte> sent_ = std::vector<std::byte>(kSent);
  std::vector<std::byte> more_bytes_ = std::vector<std::byte>(kExpected);
  Piece more_{};
  std::array<Piece, 2> pieces_{Piece{expected_.data(), kExpected}, Piece{sent_.data(), kSent}};
  std::unique_ptr<Transport> transport_ = host_.transport(0);
  std::uint64_t block_ = host_.domain(1).open(1, kBoth);
  SendEnd out_{whole_queue(host_, 1, block_, 0)};
};

// The records that rank 0 has: what it waits for, and what it sends.
constexpr std::uint32_t kReceive = 0;
constexpr std::uint32_t kSend = 1;
constexpr std::uint32_t kNobody = 2;

/// @param first piece of a message that rank 0 awaits. @return the body of its request.
Request staged(WindowPiece first, std::uint64_t bytes = kExpected) {
  return {.bytes = bytes, .ranges = {}, .first = first};
}

TEST(ShmHostile, WhatMakesSenseIsTaken) {
  Hostile hostile;
  set_body(hostile.slot(SlotType::request, 77),
           Request{.bytes = kExpected, .ranges = {}, .first = {}});
  hostile.out().send();
  EXPECT_EQ(hostile.goes_on(), 0u);
  Extent extent{};
  ASSERT_TRUE(hostile.out().find_room(50000, extent));
  std::memset(hostile.out().at(extent), 1, 50000);
  for (int half = 0; half < 2; ++half) {
    set_body(hostile.slot(SlotType::chunk, kReceive), Chunk{.extent = extent, .piece = {}});
    hostile.out().send();
    EXPECT_EQ(hostile.goes_on(), half == 0 ? 0u : 1u);
  }
  hostile.slot(SlotType::done, kSend);
  hostile.out().send();
  EXPECT_EQ(hostile.goes_on(), 1u);
  EXPECT_EQ(hostile.expected(), std::vector<std::byte>(kExpected, std::byte{1}));
}

TEST(ShmHostile, UnknownKindsAreRefused) {
  Hostile hostile;
  hostile.slot(static_cast<SlotType>(9));
  hostile.out().send();
  EXPECT_EQ(hostile.failure(), ErrorCode::transport);
}

TEST(ShmHostile, RecordsThatAreNotMeantAreRefused) {
  for (const auto& [kind, id] :
       {std::pair{SlotType::chunk, kSend}, std::pair{SlotType::chunk, kNobody},
        std::pair{SlotType::grant, kReceive}, std::pair{SlotType::grant, kNobody},
        std::pair{SlotType::done, kReceive}, std::pair{SlotType::done, kNobody},
        std::pair{SlotType::done, ~0u}}) {
    Hostile hostile;
    set_body(hostile.slot(kind, id),
             Chunk{.extent = {.end = 64, .offset = 0, .bytes = 8}, .piece = {}});
    hostile.out().send();
    EXPECT_EQ(hostile.failure(), ErrorCode::transport) << static_cast<int>(kind) << " of " << id;
  }
}

TEST(ShmHostile, ARecordThatIsDoneIsNobodys) {
  Hostile hostile;
  hostile.slot(SlotType::done, kSend);
  hostile.out().send();
  EXPECT_EQ(hostile.goes_on(), 1u);
  hostile.slot(SlotType::done, kSend);
  hostile.out().send();
  EXPECT_EQ(hostile.failure(), ErrorCode::transport);
}

TEST(ShmHostile, BytesOutsideTheRingAreRefused) {
  for (const SlotType kind : {SlotType::buffered, SlotType::chunk}) {
    Hostile hostile;
    set_body(hostile.slot(kind), Extent{.end = 64, .offset = 0xffffff00, .bytes = 8});
    hostile.out().send();
    EXPECT_EQ(hostile.failure(), ErrorCode::transport) << static_cast<int>(kind);
  }
}

TEST(ShmHostile, MoreThanWasPromisedIsRefused) {
  Hostile hostile;
  set_body(hostile.slot(SlotType::request, 77), staged({}));
  hostile.out().send();
  set_body(hostile.slot(SlotType::chunk, kReceive),
           Chunk{.extent = {.end = 64, .offset = 0, .bytes = kExpected + 1}, .piece = {}});
  hostile.out().send();
  EXPECT_EQ(hostile.failure(), ErrorCode::transport);
}

/// @param bytes in this part. @param total of the message. @return the body that says so.
Buffered part(std::uint32_t bytes, std::uint64_t total) {
  return {.extent = {.end = 64, .offset = 0, .bytes = bytes}, .bytes = total};
}

TEST(ShmHostile, PartsMakeOneMessage) {
  Hostile hostile;
  set_body(hostile.slot(SlotType::buffered), part(60000, kExpected));
  hostile.out().send();
  EXPECT_EQ(hostile.goes_on(), 0u);
  set_body(hostile.slot(SlotType::more), part(kExpected - 60000, kExpected));
  hostile.out().send();
  EXPECT_EQ(hostile.goes_on(), 1u);
}

TEST(ShmHostile, AnOlderMessageMayBeReceivedBetweenParts) {
  Hostile hostile;
  hostile.slot(SlotType::small).tag = 1;
  hostile.out().slot().length = 8;
  hostile.out().send();
  set_body(hostile.slot(SlotType::buffered), part(60000, kExpected));
  hostile.out().send();
  EXPECT_EQ(hostile.goes_on(), 0u);
  hostile.receive(1, 8);
  EXPECT_EQ(hostile.goes_on(), 1u);
  set_body(hostile.slot(SlotType::more), part(kExpected - 60000, kExpected));
  hostile.out().send();
  EXPECT_EQ(hostile.goes_on(), 1u);
}

TEST(ShmHostile, WhatWasGrantedIsNotGrantedAgain) {
  for (const SlotType kind : {SlotType::grant, SlotType::done}) {
    Hostile hostile;
    set_body(hostile.slot(SlotType::grant, kSend), Answer{});
    hostile.out().send();
    set_body(hostile.slot(kind, kSend), Answer{});
    hostile.out().send();
    EXPECT_EQ(hostile.failure(), ErrorCode::transport) << static_cast<int>(kind);
  }
}

TEST(ShmHostile, ChunksOfWhatWasNotGrantedAreRefused) {
  Hostile hostile;
  set_body(hostile.slot(SlotType::chunk, kReceive),
           Chunk{.extent = {.end = 64, .offset = 0, .bytes = 8}, .piece = {}});
  hostile.out().send();
  EXPECT_EQ(hostile.failure(), ErrorCode::transport);
}

TEST(ShmHostile, PartsThatMakeNoSenseAreRefused) {
  const std::vector<std::vector<std::pair<SlotType, Buffered>>> lists{
      {{SlotType::buffered, part(kExpected, kExpected - 1)}},
      {{SlotType::more, part(8, kExpected)}},
      {{SlotType::buffered, part(8, kExpected)}, {SlotType::more, part(kExpected - 7, kExpected)}},
      {{SlotType::buffered, part(8, kExpected)}, {SlotType::buffered, part(8, kExpected)}}};
  for (std::size_t i = 0; i < lists.size(); ++i) {
    Hostile hostile;
    for (const auto& [kind, body] : lists[i]) {
      set_body(hostile.slot(kind), body);
      hostile.out().send();
    }
    EXPECT_EQ(hostile.failure(), ErrorCode::transport) << "list " << i;
  }
}

TEST(ShmHostile, PartsOfWhatNobodyAwaitsAreCounted) {
  for (const bool is_request : {false, true}) {
    Hostile hostile;
    hostile.slot(is_request ? SlotType::request : SlotType::buffered).tag = 1;
    set_body(hostile.out().slot(), part(8, 16));
    if (is_request) set_body(hostile.out().slot(), Request{.bytes = 16, .ranges = {}, .first = {}});
    hostile.out().send();
    set_body(hostile.slot(SlotType::more), part(is_request ? 8 : 9, 16));
    hostile.out().send();
    EXPECT_EQ(hostile.failure(), ErrorCode::transport) << is_request;
  }
}

TEST(ShmHostile, ASlotCarriesNoMoreThanItHolds) {
  Hostile hostile;
  hostile.slot(SlotType::small).length = 255;
  hostile.out().send();
  EXPECT_EQ(hostile.failure(), ErrorCode::mismatch);
}

TEST(ShmHostile, RangesThatMakeNoSenseAreRefused) {
  const std::vector<std::vector<Range>> lists{
      {},
      {{.where = 0, .bytes = kExpected - 1}},
      {{.where = 0, .bytes = kExpected + 1}},
      {{.where = 0, .bytes = kExpected}, {.where = 0, .bytes = 1}},
      {{.where = 0, .bytes = 0}, {.where = 0, .bytes = kExpected}},
      {{.where = 0, .bytes = 8}, {.where = 0, .bytes = ~std::uint64_t{0} - 7}},
      {{.where = kSegmentSize - kExpected + 1, .bytes = kExpected}},
      {{.where = ~std::uint64_t{0}, .bytes = kExpected}}};
  for (std::size_t i = 0; i < lists.size(); ++i) {
    Hostile hostile;
    hostile.request(AccessMode::visible, kExpected, lists[i]);
    EXPECT_EQ(hostile.failure(), ErrorCode::transport) << "list " << i;
  }
  Hostile honest;
  honest.request(AccessMode::visible, kExpected,
                 {{.where = kSegmentSize - kExpected, .bytes = kExpected}});
  EXPECT_EQ(honest.goes_on(), 1u);
}

TEST(ShmHostile, RangesOfAProcessHaveTheBytesOfTheMessage) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, kExpected - 1, kExpected + 1}) {
    Hostile hostile;
    hostile.request(AccessMode::process, kExpected, {{.where = 4096, .bytes = bytes}});
    EXPECT_EQ(hostile.failure(), ErrorCode::transport) << bytes;
  }
  Hostile honest;
  honest.request(AccessMode::process, kExpected, {{.where = 4096, .bytes = kExpected}});
  EXPECT_EQ(honest.goes_on(), 0u) << "no memory: its bytes may still come";
}

TEST(ShmHostile, BytesThatMayNotBeReadAreMissing) {
  Hostile hostile;
  set_body(hostile.slot(SlotType::grant, kSend), Answer{.id = 0, .is_stored = 0, .moved = 8});
  hostile.out().send();
  EXPECT_EQ(hostile.failure(), ErrorCode::transport);
}

TEST(ShmHostile, PiecesThatMakeNoSenseAreRefused) {
  const auto least = static_cast<std::uint32_t>(kExpected / 2);
  for (const auto& [has_window, piece] :
       {std::pair{false, WindowPiece{0, least}}, std::pair{true, WindowPiece{kWindowPieces, least}},
        std::pair{true, WindowPiece{~0u, least}}, std::pair{true, WindowPiece{0, kExpected + 1}},
        std::pair{true, WindowPiece{0, ~0u}}}) {
    for (const bool is_chunk : {false, true}) {
      Hostile hostile;
      if (has_window) hostile.open_window();
      set_body(hostile.slot(SlotType::request, 77), staged(is_chunk ? WindowPiece{} : piece));
      hostile.out().send();
      if (is_chunk) {
        EXPECT_EQ(hostile.goes_on(), 0u);
        set_body(hostile.slot(SlotType::chunk, kReceive), Chunk{.extent = {}, .piece = piece});
        hostile.out().send();
      }
      EXPECT_EQ(hostile.failure(), ErrorCode::transport) << piece.index << ", " << piece.bytes;
    }
  }
}

TEST(ShmHostile, APieceOfNobodysMessageIsRefusedOnceItIsReceived) {
  Hostile hostile;
  hostile.slot(SlotType::request, 77).tag = 1;
  set_body(hostile.out().slot(), staged({kWindowPieces, 8}, 8));
  hostile.out().send();
  EXPECT_EQ(hostile.goes_on(), 0u);
  EXPECT_THROW(hostile.receive(1, 8), Error);
}

TEST(ShmHostile, AWindowOutsideTheSegmentIsRefused) {
  for (const std::uint64_t offset : {kSegmentSize - 64, std::uint64_t{1}, ~std::uint64_t{63}}) {
    Hostile hostile;
    hostile.open_window(offset);
    set_body(hostile.slot(SlotType::request, 77), staged({0, 8}));
    hostile.out().send();
    EXPECT_EQ(hostile.failure(), ErrorCode::transport) << offset;
  }
}

TEST(ShmHostile, PiecesMakeOneMessage) {
  Hostile hostile;
  std::byte* const window = hostile.open_window();
  std::memset(window, 1, kExpected);
  set_body(hostile.slot(SlotType::request, 77), staged({0, 60000}));
  hostile.out().send();
  EXPECT_EQ(hostile.goes_on(), 0u);
  set_body(hostile.slot(SlotType::chunk, kReceive),
           Chunk{.extent = {}, .piece = {0, kExpected - 60000}});
  hostile.out().send();
  EXPECT_EQ(hostile.goes_on(), 1u);
  EXPECT_EQ(hostile.expected(), std::vector<std::byte>(kExpected, std::byte{1}));
}

}  // namespace
}  // namespace tutti::shm
