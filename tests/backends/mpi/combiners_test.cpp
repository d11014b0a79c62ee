// Messages that are combined over MPI, wherever the limit of its messages cuts them, and what
// becomes of a combiner that throws.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "port.hpp"

namespace tutti::test {
namespace {

using Bytes = std::vector<std::byte>;

/// Keeps what it is given.
class Keeper final : public Combiner {
 public:
  void combine(std::span<const std::byte> part) override {
    if (!place.empty() && part.size() > 4000) {
      EXPECT_EQ(part.data(), place.data() + got.size());
    }
    largest = std::max(largest, part.size());
    got.insert(got.end(), part.begin(), part.end());
  }
  [[nodiscard]] std::byte* staging() noexcept override {
    return place.empty() ? nullptr : place.data();
  }
  Bytes got{};
  std::size_t largest = 0;
  Bytes place{};  // of the message, if it may have one
};

/// Throws what it was made with, once it has seen enough.
template <class Exception>
class Thrower final : public Combiner {
 public:
  Thrower(Exception exception, std::size_t patience)
      : exception_{std::move(exception)}, patience_{patience} {}
  void combine(std::span<const std::byte> part) override {
    seen_ += part.size();
    if (seen_ > patience_) throw Exception{exception_};
  }

 private:
  Exception exception_;
  std::size_t patience_;
  std::size_t seen_ = 0;
};

TEST(MpiCombiners, TakeAllBytesWhereverMessagesAreCut) {
  for (const std::size_t chunk : {1000U, 4099U}) {
    Port port{{.chunk_bytes = chunk}};
    for (const std::size_t bytes : {1U, 999U, 1000U, 4000U, 4001U, 10000U, 400000U})
      for (const bool has_place : {false, true}) {
        Bytes out = pattern(bytes, port.self(), port.right(), 1);
        Bytes unused(bytes);
        Keeper first{};
        Keeper second{};
        if (has_place) second.place.resize(bytes + 1, std::byte{0xee});
        port.receive(port.left(), unused, {.combiner = &first, .reduced = true});
        port.receive(port.left(), unused, {.tag = 1, .combiner = &second, .reduced = true});
        port.send(port.right(), out, {.tag = 1, .reduced = true});
        port.send(port.right(), out, {.reduced = true});
        port.wait();
        EXPECT_EQ(first.got, pattern(bytes, port.left(), port.self(), 1)) << bytes;
        EXPECT_EQ(second.got, first.got) << bytes;
        if (bytes > 4000 && has_place) {
          EXPECT_EQ(second.place.back(), std::byte{0xee}) << "one too many";
          second.place.pop_back();
          EXPECT_EQ(second.place, second.got);
        }
        EXPECT_EQ(unused, Bytes(bytes)) << "a piece of a combined message was written";
      }
  }
}

// A plan's messages are probed for, to find those that none of its runs receives.
TEST(MpiCombiners, TakeAllBytesOfMessagesThatAProbeHasFound) {
  Port port;
  for (const std::size_t bytes : {100U, 4000U, 4001U, 50000U}) {
    Bytes out = pattern(bytes, port.self(), port.right(), 1);
    Bytes unused(bytes);
    Keeper combiner{};
    port.send(port.right(), out, {.reduced = true});
    std::optional<Unexpected> found;
    for (const auto end = port.transport().now() + kAmple;
         !found && port.transport().now() < end;) {
      found = port.transport().probe(port.left(), 0);
      port.poll();
    }
    ASSERT_TRUE(found);
    EXPECT_EQ(found->fingerprint, 7U);
    EXPECT_EQ(found->bytes, bytes);
    port.receive(port.left(), unused, {.combiner = &combiner, .reduced = true});
    port.wait();
    EXPECT_EQ(combiner.got, pattern(bytes, port.left(), port.self(), 1)) << bytes;
    EXPECT_EQ(unused, Bytes(bytes)) << "a piece of a combined message was written";
  }
}

// However long a message is, what is given of it at once stays in the cache.
TEST(MpiCombiners, TakeLongMessagesInParts) {
  Port port;
  constexpr std::size_t kBytes = (std::size_t{5} << 20) + 4;
  Bytes out = pattern(kBytes, port.self(), port.right(), 1), unused(kBytes);
  Keeper combiner{};
  port.receive(port.left(), unused, {.combiner = &combiner, .reduced = true});
  port.send(port.right(), out, {.reduced = true});
  port.wait();
  EXPECT_EQ(combiner.got, pattern(kBytes, port.left(), port.self(), 1));
  EXPECT_LE(combiner.largest, std::size_t{1} << 20);
}

// Every rank's combiner throws, so every rank fails by its own or by a neighbour's.
template <class Exception>
void expect_failure(Exception exception, std::size_t bytes, std::size_t patience,
                    const std::string& text) {
  Port port{{.chunk_bytes = 4096}};
  Thrower<Exception> combiner{exception, patience};
  Bytes out(bytes), unused(bytes);
  Error failure{ErrorCode::bug, "no error was thrown"};
  try {
    port.send(port.right(), out, {.reduced = true});
    port.receive(port.left(), unused, {.combiner = &combiner, .reduced = true});
    port.wait();
  } catch (const Error& error) {
    failure = error;
    port.transport().abort(error);  // notifies the others, as a communicator would
  }
  const std::string said = failure.what();
  EXPECT_NE(said.find(text), std::string::npos) << said;
  const bool is_named =
      said.find("on rank " + std::to_string(failure.culprit())) != std::string::npos;
  EXPECT_TRUE(is_named || (std::is_same_v<Exception, Error>)) << said;
  EXPECT_THROW(port.poll(), Error) << "the transport goes on";
}

TEST(MpiCombiners, FailTheTransportByWhatTheyThrow) {
  for (const std::size_t bytes : {100U, 50000U})
    for (const std::size_t patience : {std::size_t{0}, bytes / 2}) {
      expect_failure(std::runtime_error{"no more room"}, bytes, patience, ": no more room");
      expect_failure(7, bytes, patience, "an exception of unknown type ended the operation");
      expect_failure(Error{ErrorCode::mismatch, "not a number"}, bytes, patience, "not a number");
    }
}

}  // namespace
}  // namespace tutti::test
