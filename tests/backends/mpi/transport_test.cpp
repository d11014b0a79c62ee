// The contract of every transport, tested over MPI by post and poll alone.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <thread>

#include "port.hpp"
#include "tests/support/patience.hpp"

namespace tutti::test {
namespace {

using Bytes = std::vector<std::byte>;

// Around every limit of the message format: header only, inline, staged, straight.
const std::array<std::size_t, 11> kSizes{0,    1,     7,     3999,  4000,  4001,
                                         4096, 16384, 16385, 70000, 300001};

// Cuts data into pieces of seeded sizes, in a seeded order of addresses.
std::vector<Piece> cut(Bytes& data, unsigned seed) {
  std::mt19937 random{seed};
  std::vector<Piece> pieces;
  for (std::size_t at = 0; at < data.size();) {
    const std::size_t bytes =
        std::min<std::size_t>(1 + random() % (data.size() / 3 + 1), data.size() - at);
    pieces.push_back({data.data() + at, bytes});
    at += bytes;
  }
  return pieces;
}

TEST(MpiTransport, TellsWhatItIs) {
  Port port;
  const Capabilities& capabilities = port.transport().capabilities();
  EXPECT_EQ(capabilities.name, "mpi");
  int* limit = nullptr;
  int known = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&limit), &known);
  ASSERT_NE(known, 0);
  EXPECT_EQ(capabilities.tags, static_cast<std::uint32_t>(*limit) / 2);  // half are for payloads
  EXPECT_GT(capabilities.idle_spins, 0);
  EXPECT_LE(capabilities.idle_spins, Capabilities{}.idle_spins) << "a poll takes 0.1 us or more";
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT_EQ(port.size(), size);
}

TEST(MpiTransport, ConnectsEveryPairOfRanksInEverySize) {
  Port port;
  for (const std::size_t bytes : kSizes) {
    std::vector<Bytes> out, in(static_cast<std::size_t>(port.size()), Bytes(bytes));
    for (Rank peer = 0; peer < port.size(); ++peer) {
      out.push_back(pattern(bytes, port.self(), peer, 0));
      port.receive(peer, in[static_cast<std::size_t>(peer)], {.tag = 3});
    }
    for (Rank peer = 0; peer < port.size(); ++peer)
      port.send(peer, out[static_cast<std::size_t>(peer)], {.tag = 3});
    port.wait();
    for (Rank peer = 0; peer < port.size(); ++peer)
      EXPECT_EQ(in[static_cast<std::size_t>(peer)], pattern(bytes, peer, port.self(), 0))
          << bytes << " bytes from rank " << peer;
  }
}

TEST(MpiTransport, KeepsTheOrderOfMessagesOfOneTag) {
  Port port;
  constexpr int kMessages = 150;
  std::vector<Bytes> out, in;
  for (int i = 0; i < kMessages; ++i) {
    const std::size_t bytes = kSizes[static_cast<std::size_t>(i * 7) % 9];
    out.push_back(pattern(bytes, port.self(), port.right(), i));
    in.emplace_back(bytes);
  }
  for (int i = 0; i < kMessages; ++i) {
    port.send(port.right(), out[static_cast<std::size_t>(i)], {});
    port.receive(port.left(), in[static_cast<std::size_t>(i)], {});
  }
  port.wait();
  for (int i = 0; i < kMessages; ++i)
    ASSERT_EQ(in[static_cast<std::size_t>(i)],
              pattern(in[static_cast<std::size_t>(i)].size(), port.left(), port.self(), i))
        << i;
}

TEST(MpiTransport, LetsNoTagBlockAnother) {
  Port port;
  constexpr int kTags = 12;
  const std::uint32_t last = port.transport().capabilities().tags - 1;
  std::vector<Bytes> out;
  for (int tag = 0; tag < kTags; ++tag)
    out.push_back(
        pattern(kSizes[static_cast<std::size_t>(tag) % 9], port.self(), port.right(), tag));
  for (int tag = 0; tag < kTags; ++tag)
    port.send(port.right(), out[static_cast<std::size_t>(tag)],
              {.tag = last - static_cast<std::uint32_t>(tag)});
  for (int tag = kTags - 1; tag >= 0; --tag) {  // one after the other, the last one first
    Bytes in(kSizes[static_cast<std::size_t>(tag) % 9]);
    const std::size_t cookie = port.posted();
    port.receive(port.left(), in, {.tag = last - static_cast<std::uint32_t>(tag)});
    const Duration deadline = port.transport().now() + kAmple;
    while (!port.done(cookie) && port.transport().now() < deadline) port.poll();
    ASSERT_TRUE(port.done(cookie)) << tag;
    ASSERT_EQ(in, pattern(in.size(), port.left(), port.self(), tag));
  }
  port.wait();
}

TEST(MpiTransport, CutsPiecesAlikeHoweverTheyLie) {
  Port port;
  for (const std::size_t bytes : kSizes) {
    Bytes out = pattern(bytes, port.self(), port.right(), 5), in(bytes);
    port.receive(port.left(), cut(in, 11), {.tag = 1});
    port.send(port.right(), cut(out, 12), {.tag = 1});
    Bytes whole = pattern(bytes, port.self(), port.right(), 6), parts(bytes);
    port.send(port.right(), whole, {.tag = 2});
    port.receive(port.left(), cut(parts, 13), {.tag = 2});
    port.wait();
    EXPECT_EQ(in, pattern(bytes, port.left(), port.self(), 5)) << bytes;
    EXPECT_EQ(parts, pattern(bytes, port.left(), port.self(), 6)) << bytes;
  }
}

TEST(MpiTransport, SendsInChunksWhatIsTooLongForOneMessage) {
  for (const std::size_t chunk : {std::size_t{1000}, std::size_t{4099}}) {
    Port port{{.chunk_bytes = chunk}};
    for (const std::size_t bytes :
         {std::size_t{999}, std::size_t{4001}, std::size_t{8000}, std::size_t{100003}}) {
      Bytes out = pattern(bytes, port.self(), port.right(), 5), in(bytes);
      Bytes again = out, scattered(bytes);
      port.receive(port.left(), in, {.tag = 1});
      port.receive(port.left(), cut(scattered, 21), {.tag = 1});
      port.send(port.right(), cut(out, 22), {.tag = 1});
      port.send(port.right(), again, {.tag = 1});
      port.wait();
      EXPECT_EQ(in, pattern(bytes, port.left(), port.self(), 5)) << bytes;
      EXPECT_EQ(scattered, in) << bytes;
    }
  }
}

TEST(MpiTransport, HoldsManyTransfersInFlight) {
  Port port;
  constexpr int kMessages = 400;
  std::vector<Bytes> out, in;
  for (int i = 0; i < kMessages; ++i) {
    out.push_back(pattern(64 + static_cast<std::size_t>(i), port.self(), port.right(), i));
    in.emplace_back(64 + static_cast<std::size_t>(i));
  }
  for (int i = 0; i < kMessages; ++i)
    port.receive(port.left(), in[static_cast<std::size_t>(i)],
                 {.tag = static_cast<std::uint32_t>(i % 5)});
  for (int i = 0; i < kMessages; ++i)
    port.send(port.right(), out[static_cast<std::size_t>(i)],
              {.tag = static_cast<std::uint32_t>(i % 5)});
  port.wait();
  for (int i = 0; i < kMessages; ++i)
    ASSERT_EQ(in[static_cast<std::size_t>(i)],
              pattern(64 + static_cast<std::size_t>(i), port.left(), port.self(), i));
}

TEST(MpiTransport, DoesNotMixWithMessagesOfTheCaller) {
  Port port;
  Port other;  // a second one over the same communicator
  int theirs = 1000 + port.self(), mine = 0;
  MPI_Request requests[2];
  MPI_Irecv(&mine, 1, MPI_INT, port.left(), 6, MPI_COMM_WORLD, requests);
  MPI_Isend(&theirs, 1, MPI_INT, port.right(), 6, MPI_COMM_WORLD, requests + 1);
  Bytes out = pattern(20, port.self(), port.right(), 1), in(20);
  Bytes out2 = pattern(20, port.self(), port.right(), 2), in2(20);
  other.send(port.right(), out2, {.tag = 3});
  port.send(port.right(), out, {.tag = 3});
  port.receive(port.left(), in, {.tag = 3});
  other.receive(port.left(), in2, {.tag = 3});
  port.wait();
  other.wait();
  for (int done = 0; done == 0;) MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
  EXPECT_EQ(in, pattern(20, port.left(), port.self(), 1));
  EXPECT_EQ(in2, pattern(20, port.left(), port.self(), 2));
  EXPECT_EQ(mine, 1000 + port.left());
}

TEST(MpiTransport, MayBeMadeAndDestroyedAgainAndAgain) {
  for (int i = 0; i < 10; ++i) {
    Port port;
    Bytes out = pattern(100, port.self(), port.right(), i), in(100);
    port.send(port.right(), out, {});
    port.receive(port.left(), in, {});
    port.wait();
    ASSERT_EQ(in, pattern(100, port.left(), port.self(), i));
  }
}

TEST(MpiTransport, ServesPartsOfTheWorld) {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  {
    Port port{{}, half};
    EXPECT_EQ(port.size(), (size + 1 - rank % 2) / 2);
    Bytes out(4, static_cast<std::byte>(rank)), in(4);
    port.send(port.right(), out, {});
    port.receive(port.left(), in, {});
    port.wait();
    EXPECT_EQ(static_cast<int>(in[0]) % 2, rank % 2);
  }
  MPI_Comm_free(&half);
}

TEST(MpiTransport, RefusesWhatItCannotServe) {
  const auto code = [](MPI_Comm comm, std::size_t chunk_bytes) {
    try {
      static_cast<void>(mpi::make_transport(comm, {.chunk_bytes = chunk_bytes}));
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::bug;
  };
  EXPECT_EQ(code(MPI_COMM_NULL, 1000), ErrorCode::invalid_argument);
  EXPECT_EQ(code(MPI_COMM_WORLD, 0), ErrorCode::invalid_argument);
  EXPECT_EQ(code(MPI_COMM_WORLD, std::size_t{1} << 31), ErrorCode::invalid_argument);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > 1) {
    EXPECT_EQ(code(MPI_COMM_WORLD, rank == size - 1 ? 1000 : 2000), ErrorCode::mismatch);
  }
}

// Counts how often a communicator with the attribute is freed.
int count_freed(MPI_Comm, int, void*, void* count) {
  ++*static_cast<int*>(count);
  return MPI_SUCCESS;
}

TEST(MpiTransport, LeavesNoCommunicatorBehindWhereOptionsDiffer) {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int key = MPI_KEYVAL_INVALID;
  int freed = 0;
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, count_freed, &key, &freed);
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &parent);
  MPI_Comm_set_attr(parent, key, &freed);
  const std::size_t chunk_bytes = rank == size - 1 ? 1000 : 2000;
  if (size == 1) static_cast<void>(mpi::make_transport(parent));
  else
    EXPECT_THROW(static_cast<void>(mpi::make_transport(parent, {.chunk_bytes = chunk_bytes})),
                 Error);
  EXPECT_EQ(freed, 1) << "of the duplicate";
  MPI_Comm_free(&parent);
  MPI_Comm_free_keyval(&key);
}

// The last rank's sends complete, and it calls the MPI no more, as a rank that computes.
// Rank 0 must get them all.
std::size_t sends_done_at_once(Port& port, std::vector<Bytes>& out) {
  const auto over = [&port, end = port.transport().now() + std::chrono::milliseconds{300}] {
    return port.transport().now() > end;
  };
  for (std::size_t i = 0; i < out.size(); ++i) {
    port.send(0, out[i], {});
    while (!port.done(i) && !over()) port.poll();
    if (!port.done(i)) return i;
  }
  return out.size();
}

// Two ranks say it all; more of them would only wait, and keep the processors busy.
TEST(MpiTransport, ASendThatIsDoneNeedsNoMoreCalls) {
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{1000}, std::size_t{4000}}) {
    Port port;
    const Rank last = port.size() - 1;
    if (last != 1) return;
    constexpr std::size_t kMessages = 400;
    std::vector<Bytes> out(kMessages, Bytes(bytes, std::byte{1}));
    Bytes in(bytes), count(sizeof(std::size_t));
    if (port.self() == last) {
      const std::size_t done = sends_done_at_once(port, out);
      std::this_thread::sleep_for(std::chrono::milliseconds{900});
      std::memcpy(count.data(), &done, sizeof done);
      port.send(0, count, {.tag = 1});
      for (std::size_t i = port.posted() - 1; i < kMessages; ++i) port.send(0, out[i], {});
    } else if (port.self() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds{200});
      const Duration end = port.transport().now() + std::chrono::milliseconds{600};
      std::size_t come = 0;
      while (come < kMessages && port.transport().now() < end) {
        if (port.posted() == come) port.receive(last, in, {});
        port.poll();
        if (port.done(come)) ++come;
      }
      for (std::size_t i = port.posted(); i < kMessages; ++i) port.receive(last, in, {});
      port.receive(last, count, {.tag = 1});
      port.wait();
      std::size_t done = 0;
      std::memcpy(&done, count.data(), sizeof done);
      // If the MPI does not report which sends end at once, the transport assumes sixteen.
      const std::size_t untold = bytes > 200 ? 16 : 0;
      EXPECT_GE(come + untold, done) << bytes;
    }
    port.wait();
  }
}

}  // namespace
}  // namespace tutti::test
