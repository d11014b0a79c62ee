// Sinks over MPI, wherever the limit of its messages cuts them, and what becomes of a throwing one.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "port.hpp"

namespace tutti::test {
namespace {

using Bytes = std::vector<std::byte>;

/// Keeps what it is given.
class Keeper final : public Sink {
 public:
  explicit Keeper(std::uint32_t grain) : grain_{grain} {}
  void take(std::size_t offset, std::span<const std::byte> part) override {
    EXPECT_EQ(offset, got.size());
    EXPECT_EQ(offset % grain_, 0U);
    const auto address = reinterpret_cast<std::uintptr_t>(part.data());
    if (std::has_single_bit(grain_) && part.data() != place.data() + offset) {
      EXPECT_EQ(address % std::min(grain_, 64U), 0U);
    }
    largest = std::max(largest, part.size());
    got.insert(got.end(), part.begin(), part.end());
  }
  [[nodiscard]] std::byte* room() noexcept override {
    return place.empty() ? nullptr : place.data();
  }
  Bytes got{};
  std::size_t largest = 0;
  Bytes place{};  // of the message, if it may have one

 private:
  std::uint32_t grain_;
};

/// Throws what it was made with, once it has seen enough.
template <class Exception>
class Thrower final : public Sink {
 public:
  Thrower(Exception exception, std::size_t patience)
      : exception_{std::move(exception)}, patience_{patience} {}
  void take(std::size_t offset, std::span<const std::byte> part) override {
    if (offset + part.size() > patience_) throw Exception{exception_};
  }

 private:
  Exception exception_;
  std::size_t patience_;
};

TEST(MpiSinks, TakeWholeElementsWhereverMessagesAreCut) {
  for (const std::size_t chunk : {1000U, 4099U}) {
    Port port{{.chunk_bytes = chunk}};
    for (const std::uint32_t grain : {1U, 8U, 12U, 16U, 64U, 999U, 1000U, 1001U, 10000U})
      for (const std::size_t elements : {1U, 3U, 40U}) {
        const std::size_t bytes = elements * grain;
        Bytes out = pattern(bytes, port.self(), port.right(), 1);
        Bytes unused(bytes);
        Keeper first{grain};
        Keeper second{grain};
        if (elements % 2 == 0) second.place.resize(bytes + 1, std::byte{0xee});
        port.receive(port.left(), unused, {.sink = &first, .grain = grain, .reduced = true});
        port.receive(port.left(), unused,
                     {.tag = 1, .sink = &second, .grain = grain, .reduced = true});
        port.send(port.right(), out, {.tag = 1, .reduced = true});
        port.send(port.right(), out, {.reduced = true});
        port.wait();
        EXPECT_EQ(first.got, pattern(bytes, port.left(), port.self(), 1))
            << bytes << " of " << grain;
        EXPECT_EQ(second.got, first.got) << bytes << " of " << grain;
        if (bytes > 4000 && !second.place.empty()) {
          EXPECT_EQ(second.place.back(), std::byte{0xee}) << "one too many";
          second.place.pop_back();
          EXPECT_EQ(second.place, second.got);
        }
        EXPECT_EQ(unused, Bytes(bytes)) << "a piece of a sink's receive was written";
      }
  }
}

// However long a message is, what is given of it at once stays in the cache.
TEST(MpiSinks, TakeLongMessagesInParts) {
  Port port;
  constexpr std::size_t kBytes = (std::size_t{5} << 20) + 4;
  Bytes out = pattern(kBytes, port.self(), port.right(), 1), unused(kBytes);
  Keeper sink{4};
  port.receive(port.left(), unused, {.sink = &sink, .grain = 4, .reduced = true});
  port.send(port.right(), out, {.reduced = true});
  port.wait();
  EXPECT_EQ(sink.got, pattern(kBytes, port.left(), port.self(), 1));
  EXPECT_LE(sink.largest, std::size_t{1} << 20);
}

// Every rank's sink throws, so every rank fails by its own or by a neighbour's.
template <class Exception>
void expect_failure(Exception exception, std::size_t bytes, std::size_t patience,
                    const std::string& text) {
  Port port{{.chunk_bytes = 4096}};
  Thrower<Exception> sink{exception, patience};
  Bytes out(bytes), unused(bytes);
  std::string said{};
  try {
    port.send(port.right(), out, {.reduced = true});
    port.receive(port.left(), unused, {.sink = &sink, .reduced = true});
    port.wait();
  } catch (const Error& error) {
    said = error.what();
    port.transport().abort(error);  // tells the others, as a communicator would
  }
  EXPECT_NE(said.find(text), std::string::npos) << said;
  EXPECT_THROW(port.poll(), Error) << "the transport goes on";
}

TEST(MpiSinks, FailTheTransportByWhatTheyThrow) {
  for (const std::size_t bytes : {100U, 50000U})
    for (const std::size_t patience : {std::size_t{0}, bytes / 2}) {
      expect_failure(std::runtime_error{"no more room"}, bytes, patience,
                     "an exception ended a reduction: no more room");
      expect_failure(Error{ErrorCode::mismatch, "not a number"}, bytes, patience, "not a number");
    }
}

TEST(MpiSinks, NeedAGrain) {
  Port port;
  Keeper sink{1};
  Bytes bytes(8);
  try {
    port.receive(port.left(), bytes, {.sink = &sink, .grain = 0, .reduced = true});
    ADD_FAILURE() << "an element of no bytes was taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string{error.what()}.find("grain of zero"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tutti::test
