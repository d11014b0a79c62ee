// A combiner takes a message in order, byte by byte once.
#include "group.hpp"

namespace tutti::conformance {
namespace {

class Combiners : public ::testing::TestWithParam<Setting> {
 protected:
  void SetUp() override { ASSERT_TRUE(group_.capabilities().combines); }

  int size_ = GetParam().size;
  std::unique_ptr<Links> links_ = GetParam().backend.connect({.size = size_});
  Group group_{*links_, size_};
};

/// Keeps what it is given.
class Collector final : public Combiner {
 public:
  void combine(std::span<const std::byte> part) override {
    EXPECT_FALSE(part.empty());
    got_.insert(got_.end(), part.begin(), part.end());
  }
  [[nodiscard]] const Bytes& got() const noexcept { return got_; }

 private:
  Bytes got_{};
};

TEST_P(Combiners, TakeMessagesOfEverySize) {
  for (const std::size_t bytes :
       {0UL, 1UL, 5UL, 39UL, 1000UL, 8192UL, 40'000UL, 200'001UL, 1'600'000UL}) {
    const Bytes out = pattern(bytes, bytes);
    Bytes unused(bytes);
    Collector early{};
    Collector late{};
    group_.receive(size_ - 1, 0, unused, {.combiner = &early, .reduced = true});
    group_.send(0, size_ - 1, out, {.piece = 7919, .reduced = true});
    group_.send(0, size_ - 1, out, {.piece = 4093, .reduced = true});
    for (int i = 0; i < 20; ++i) group_.step();
    group_.receive(size_ - 1, 0, unused, {.combiner = &late, .reduced = true});
    ASSERT_TRUE(group_.finish());
    EXPECT_TRUE(early.got() == out) << bytes << " bytes";
    EXPECT_TRUE(late.got() == out) << bytes << " bytes";
    EXPECT_TRUE(unused == Bytes(bytes)) << "a piece of a combined message was written";
  }
}

TEST_P(Combiners, TakeSeveralMessagesAtOnce) {
  constexpr std::size_t kBytes = 3 * (1U << 20);
  const Rank to = size_ - 1;
  std::vector<Bytes> out{};
  std::deque<Collector> combiners{};
  Bytes unused(kBytes);
  Bytes plain(kBytes);
  for (std::uint32_t tag = 0; tag < 4; ++tag) {
    out.push_back(pattern(kBytes, tag));
    combiners.emplace_back();
    if (tag == 3) group_.receive(to, 0, plain, {.tag = tag});
    else
      group_.receive(to, 0, unused, {.tag = tag, .combiner = &combiners.back(), .reduced = true});
  }
  for (std::uint32_t tag = 0; tag < 4; ++tag)
    group_.send(0, to, out[tag], {.tag = tag, .reduced = tag < 3});
  ASSERT_TRUE(group_.finish());
  for (std::uint32_t tag = 0; tag < 3; ++tag) EXPECT_TRUE(combiners[tag].got() == out[tag]);
  EXPECT_TRUE(plain == out[3]);
}

INSTANTIATE_TEST_SUITE_P(Conformance, Combiners, ::testing::ValuesIn(settings()), name_of);

}  // namespace
}  // namespace tutti::conformance
