// Cases of the conformance suite for ranks that share a process, over MPI: communicators used in
// turns, and messages without a receive.
#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>

#include "port.hpp"
#include "tests/support/patience.hpp"

namespace tutti::test {
namespace {

using Bytes = std::vector<std::byte>;

// Equal tags and fingerprints on both, and each is received in the other's order.
TEST(MpiPromises, MessagesOfSeveralCommunicatorsAreToldApart) {
  constexpr int kMessages = 20;
  const auto bytes_of = [](int number) { return static_cast<std::size_t>(number) * 997; };
  Port first;
  Port second;
  std::vector<Bytes> out;
  std::vector<Bytes> in;
  for (int i = 0; i < 2 * kMessages; ++i) {
    out.push_back(pattern(bytes_of(i), first.self(), first.right(), i));
    in.emplace_back(bytes_of(i));
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    (i % 2 == 0 ? first : second).send(first.right(), out[i], {.tag = 3});
  for (std::size_t i = 1; i < in.size(); i += 2) second.receive(first.left(), in[i], {.tag = 3});
  for (std::size_t i = 0; i < in.size(); i += 2) first.receive(first.left(), in[i], {.tag = 3});
  // A communicator's messages move by its own polls.
  std::size_t done = 0;
  const Duration deadline = first.transport().now() + kAmple;
  while (done < out.size() + in.size() && first.transport().now() < deadline)
    done += first.poll() + second.poll();
  ASSERT_EQ(done, out.size() + in.size());
  for (int i = 0; i < 2 * kMessages; ++i)
    EXPECT_TRUE(in[static_cast<std::size_t>(i)] ==
                pattern(bytes_of(i), first.left(), first.self(), i))
        << "message " << i;
}

TEST(MpiPromises, ACommunicatorGoesOnWhenAnotherHasFailed) {
  Port failed;
  Port whole;
  failed.transport().abort({ErrorCode::timeout, "given up", 0});
  Bytes out = pattern(100000, whole.self(), whole.right(), 1);
  Bytes in(out.size());
  whole.receive(whole.left(), in, {});
  whole.send(whole.right(), out, {});
  whole.wait();
  EXPECT_TRUE(in == pattern(in.size(), whole.left(), whole.self(), 1));
}

std::size_t resident_bytes() {
  std::size_t whole = 0;
  std::size_t resident = 0;
  std::ifstream{"/proc/self/statm"} >> whole >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST(MpiPromises, MessagesWithoutAReceiveTakeBoundedMemory) {
  constexpr int kMessages = 1000;
  Port port;
  if (port.size() == 1) GTEST_SKIP() << "a rank alone sends to itself, in the MPI's memory";
  const Rank last = port.size() - 1;
  Bytes out = pattern(65536, 0, last, 0);
  Bytes in(out.size());
  Bytes word(8);
  const std::size_t before = resident_bytes();
  if (port.self() == 0) {
    for (int i = 0; i < kMessages; ++i) port.send(last, out, {.tag = 1});
    port.send(last, word, {.tag = 2});
    port.receive(last, word, {.tag = 3});
  } else if (port.self() == last) {
    port.receive(0, word, {.tag = 2});  // it overtakes the others
    port.wait();
    EXPECT_LT(resident_bytes(), before + (std::size_t{24} << 20)) << "of 64 MiB sent";
    for (int i = 0; i < kMessages; ++i) port.receive(0, in, {.tag = 1});
    port.send(0, word, {.tag = 3});
  }
  port.wait();
  EXPECT_TRUE(port.self() != last || in == out);
}

}  // namespace
}  // namespace tutti::test
