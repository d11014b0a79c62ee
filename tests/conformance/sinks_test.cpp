// A sink takes a message in order, in parts that cut no element.
#include "group.hpp"

namespace tutti::conformance {
namespace {

class Sinks : public ::testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    if (!group_.capabilities().sinks) GTEST_SKIP() << "this backend takes no sinks";
  }

  int size_ = GetParam().size;
  std::unique_ptr<Links> links_ = GetParam().backend.connect({.size = size_});
  Group group_{*links_, size_};
};

/// Keeps what it is given, and looks at how it is given.
class Collector final : public Sink {
 public:
  Collector(std::size_t bytes, std::uint32_t grain) : bytes_{bytes}, grain_{grain} {}
  void take(std::size_t offset, std::span<const std::byte> part) override {
    EXPECT_EQ(offset, got_.size());
    EXPECT_FALSE(part.empty());
    const bool last = offset + part.size() == bytes_;
    EXPECT_TRUE(last || part.size() % grain_ == 0) << "at " << offset;
    const bool power_of_two = (grain_ & (grain_ - 1)) == 0;
    const auto address = reinterpret_cast<std::uintptr_t>(part.data());
    EXPECT_TRUE(!power_of_two || address % std::min(grain_, 64U) == 0) << "at " << offset;
    got_.insert(got_.end(), part.begin(), part.end());
  }
  [[nodiscard]] const Bytes& got() const noexcept { return got_; }

 private:
  std::size_t bytes_;
  std::uint32_t grain_;
  Bytes got_{};
};

TEST_P(Sinks, TakeMessagesOfEverySize) {
  for (const std::size_t elements : {0UL, 1UL, 5UL, 1000UL, 8192UL, 40'000UL, 200'000UL})
    for (const std::uint32_t grain : {1U, 4U, 8U, 12U, 16U}) {
      const Bytes out = pattern(elements * grain, elements + grain);
      Bytes unused(out.size());
      Collector early{out.size(), grain};
      Collector late{out.size(), grain};
      group_.receive(size_ - 1, 0, unused, {.sink = &early, .grain = grain, .reduced = true});
      group_.send(0, size_ - 1, out, {.piece = 7919, .reduced = true});
      group_.send(0, size_ - 1, out, {.piece = 4093, .reduced = true});
      for (int i = 0; i < 20; ++i) group_.step();
      group_.receive(size_ - 1, 0, unused, {.sink = &late, .grain = grain, .reduced = true});
      ASSERT_TRUE(group_.finish());
      EXPECT_TRUE(early.got() == out) << elements << " elements of " << grain;
      EXPECT_TRUE(late.got() == out) << elements << " elements of " << grain;
      EXPECT_TRUE(unused == Bytes(out.size())) << "a piece of a sink's receive was written";
    }
}

TEST_P(Sinks, TakeElementsOfAnySize) {
  for (const std::uint32_t grain : {1000U, 65536U, 100000U, 1000000U}) {
    const Bytes out = pattern(grain * std::size_t{5}, grain);
    Bytes unused(out.size());
    Collector sink{out.size(), grain};
    group_.receive(size_ - 1, 0, unused, {.sink = &sink, .grain = grain, .reduced = true});
    group_.send(0, size_ - 1, out, {.reduced = true});
    ASSERT_TRUE(group_.finish());
    EXPECT_TRUE(sink.got() == out) << "elements of " << grain;
  }
}

TEST_P(Sinks, TakeSeveralMessagesAtOnce) {
  constexpr std::size_t kBytes = 3 * (1U << 20);
  const Rank to = size_ - 1;
  std::vector<Bytes> out{};
  std::deque<Collector> sinks{};
  Bytes unused(kBytes);
  Bytes plain(kBytes);
  for (std::uint32_t tag = 0; tag < 4; ++tag) {
    out.push_back(pattern(kBytes, tag));
    sinks.emplace_back(kBytes, 12);
    if (tag == 3) group_.receive(to, 0, plain, {.tag = tag});
    else
      group_.receive(to, 0, unused,
                     {.tag = tag, .sink = &sinks.back(), .grain = 12, .reduced = true});
  }
  for (std::uint32_t tag = 0; tag < 4; ++tag)
    group_.send(0, to, out[tag], {.tag = tag, .reduced = tag < 3});
  ASSERT_TRUE(group_.finish());
  for (std::uint32_t tag = 0; tag < 3; ++tag) EXPECT_TRUE(sinks[tag].got() == out[tag]);
  EXPECT_TRUE(plain == out[3]);
}

INSTANTIATE_TEST_SUITE_P(Conformance, Sinks, ::testing::ValuesIn(settings()), name_of);

}  // namespace
}  // namespace tutti::conformance
