// A peer gone mad is refused without harm: what the fuzzer found worth keeping, and more of its
// kind from a seed.
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "backends/tcp/frame.hpp"
#include "tests/fuzz/tcp_conversation.hpp"

namespace tutti::fuzz {
namespace {

using Bytes = std::vector<std::byte>;
using tcp::FrameType;
using tcp::Header;

// Frames with payloads of as many bytes as they claim, up to a few thousand.
Bytes conversation(const std::vector<Header>& headers) {
  Bytes bytes{};
  for (Header header : headers) {
    header.source = 1;
    tcp::seal(header);
    const auto* const front = reinterpret_cast<const std::byte*>(&header);
    bytes.insert(bytes.end(), front, front + sizeof header);
    bytes.resize(bytes.size() + std::min<std::uint64_t>(header.payload(), 4000), std::byte{0x5a});
  }
  return bytes;
}

Header message(std::uint64_t sequence, std::uint64_t length, std::uint32_t tag = 0) {
  return {.communicator = 1, .tag = tag, .sequence = sequence, .length = length};
}
Header request(std::uint64_t sequence, std::uint64_t length, std::uint64_t unasked) {
  return {.type = FrameType::request,
          .communicator = 1,
          .sequence = sequence,
          .length = length,
          .offset = unasked};
}
Header data(std::uint64_t sequence, std::uint64_t length, std::uint64_t offset) {
  return {.type = FrameType::data,
          .communicator = 1,
          .sequence = sequence,
          .length = length,
          .offset = offset};
}
Header of(FrameType type, std::uint64_t length) {
  return {.type = type, .communicator = 1, .length = length};
}

TEST(Conversations, ThatAreKnownToBeHardDoNoHarm) {
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  const std::vector<Bytes> corpus{
      conversation({}),
      conversation({message(0, 0), message(1, 1), message(2, 2000)}),
      conversation({request(0, 3000, 2000), data(0, 2000, 0), data(0, 1000, 2000)}),
      conversation({request(0, 3000, 0), request(1, 3000, 0), data(1, 2500, 0), data(0, 2500, 0)}),
      conversation({request(0, 3000, 2000), data(0, 2500, 0), data(0, 501, 2500)}),
      conversation({request(0, 3000, 0), data(0, 2500, kHuge)}),
      conversation({request(0, 3000, 0), data(0, 0, 0), data(0, 0, 0)}),
      conversation({request(0, kHuge, 2000), data(0, 2000, 0)}),
      conversation({request(0, 0, 0), request(1, 0, 0)}),
      conversation({request(0, 3000, 0), request(0, 3000, 0)}),
      conversation({message(5, 10), message(4, 10)}),
      conversation({data(7, 100, 0)}),
      conversation({of(FrameType::credit, kHuge)}),
      conversation({of(FrameType::credit, 1)}),
      conversation({of(FrameType::grant, 0), message(0, 8)}),
      conversation({message(0, 2000, 9), message(1, 2000, 9), message(2, 2000, 9),
                    message(3, 2000, 9), message(4, 2000, 9), message(5, 2000, 9),
                    message(6, 2000, 9), message(7, 2000, 9), message(8, 2000, 9)}),
      conversation({{.communicator = 2, .length = 100}, {.communicator = 3, .sequence = 1}}),
      conversation({{.flags = tcp::kPayloadSummed, .communicator = 1, .length = 100}}),
      Bytes(1000, std::byte{0}),
      Bytes(63, std::byte{0x74}),
  };
  for (const Bytes& bytes : corpus) {
    converse(bytes);
    if (bytes.size() > 10) converse(std::span{bytes}.first(bytes.size() - 10));
  }
}

TEST(Conversations, OfRandomFramesDoNoHarm) {
  std::mt19937_64 random{1};
  for (int i = 0; i < 500; ++i) {
    std::vector<Header> headers{};
    for (std::uint64_t sequence = 0; sequence < 12; ++sequence) {
      const std::uint64_t length = random() % 3200;
      const auto type = static_cast<FrameType>(1 + random() % 5);
      headers.push_back({.type = type,
                         .flags = static_cast<std::uint16_t>(random() % 16 == 0),
                         .communicator = 1 + random() % 8 / 6,
                         .tag = static_cast<std::uint32_t>(random() % 3),
                         .sequence = type == FrameType::data ? random() % 12 : sequence,
                         .length = random() % 3 == 0 ? 3000 : length,
                         .offset = random() % 2 * (random() % 2000)});
    }
    converse(conversation(headers));
    Bytes noise(random() % 3000);
    for (std::byte& byte : noise) byte = static_cast<std::byte>(random());
    converse(resealed(noise));
  }
}

}  // namespace
}  // namespace tutti::fuzz
