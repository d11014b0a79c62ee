// Messages that stay in the sender's memory, results stored there, and ranks that take theirs back.
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "pair.hpp"
#include "tests/support/patience.hpp"

namespace tutti::shm {
namespace {

constexpr std::size_t kBytes = 40000;
constexpr std::uint32_t kTag = 5;
constexpr std::uint32_t kOrdinal = 3;

/// Rank 0 sends a message and says where its result belongs; rank 1 has waited for it.
class Access : public ::testing::Test {
 protected:
  Access() {
    message_ = memory_->allocate(kBytes);
    result_ = memory_->allocate(kBytes);
    std::memset(message_, 1, kBytes);
    std::memset(result_, 2, kBytes);
    send_ = {message_, kBytes};
    const Transfer transfer{.kind = Transfer::Kind::send,
                            .peer = 1,
                            .tag = kTag,
                            .pieces = {&send_, 1},
                            .result = {result_, kBytes, kOrdinal}};
    sender_->post({&transfer, 1});
    wait();
  }
  ~Access() override {
    memory_->deallocate(message_, kBytes);
    memory_->deallocate(result_, kBytes);
  }

  void wait() {
    const Transfer transfer{
        .kind = Transfer::Kind::wait, .peer = 0, .tag = kTag, .pieces = {&into_, 1}};
    reader_->post({&transfer, 1});
    std::array<Completion, 2> completions{};
    ASSERT_EQ(reader_->poll(completions), 1u);
    access_ = completions[0].access;
    ASSERT_NE(access_, kNoAccess);
    EXPECT_EQ(std::memcmp(completions[0].data, message_, kBytes), 0);
    EXPECT_EQ(completed(*sender_), 0u) << "it is still being read";
  }
  /// @return whether the only send that is done says that its result is there.
  [[nodiscard]] bool is_stored() {
    std::array<Completion, 2> completions{};
    EXPECT_EQ(sender_->poll(completions), 1u);
    return completions[0].is_stored;
  }
  std::unique_ptr<Transport> join(Rank rank) {
    // Each has an alarm of its own.
    return host_.domain(rank).transport(1, kBoth, std::make_shared<FailureSignal>());
  }

  Host host_{2};
  std::shared_ptr<Memory> memory_ = make_visible_memory(host_.segments[0]);
  std::unique_ptr<Transport> sender_ = join(0);
  std::unique_ptr<Transport> reader_ = join(1);
  std::byte* message_ = nullptr;
  std::byte* result_ = nullptr;
  std::vector<std::byte> elsewhere_ = std::vector<std::byte>(kBytes, std::byte{9});
  Piece send_{};
  Piece into_{elsewhere_.data(), kBytes};
  AccessId access_ = kNoAccess;
};

TEST_F(Access, StoresTheResultWhereItBelongs) {
  std::byte* const place = reader_->open_result(access_, kOrdinal, kBytes);
  ASSERT_NE(place, nullptr);
  std::memset(place, 7, kBytes);
  reader_->signal(access_, true);
  EXPECT_TRUE(is_stored());
  EXPECT_EQ(std::memcmp(result_, std::vector(kBytes, std::byte{7}).data(), kBytes), 0);
  EXPECT_EQ(elsewhere_, std::vector(kBytes, std::byte{9})) << "the message is not moved";
}

TEST_F(Access, StoresNoOtherResult) {
  EXPECT_EQ(reader_->open_result(access_, kOrdinal - 1, kBytes), nullptr);
  EXPECT_EQ(reader_->open_result(access_, kOrdinal, kBytes - 1), nullptr);
  reader_->signal(access_, false);
  EXPECT_FALSE(is_stored());
  EXPECT_EQ(std::memcmp(result_, std::vector(kBytes, std::byte{2}).data(), kBytes), 0);
}

TEST_F(Access, ToARankThatGaveUpIsWorthNothing) {
  EXPECT_TRUE(sender_->abort({ErrorCode::aborted, "enough"}));
  EXPECT_EQ(reader_->open_result(access_, kOrdinal, kBytes), nullptr);
  EXPECT_THROW(reader_->signal(access_, false), Error);
}

/// A sender that gives up while its result is written.
class GivenUpAccess : public Access {
 public:
  void TestBody() override {}
  /// @param time for the begin of the abort, and less than it waits. @return whether it waits for
  /// the reader, and the reader gets its error.
  bool is_waited_for(std::chrono::milliseconds time) {
    EXPECT_NE(reader_->open_result(access_, kOrdinal, kBytes), nullptr);
    std::atomic<bool> begins = false, is_over = false, is_good = false;
    std::thread owner{[&] {
      begins = true;
      is_good = sender_->abort({ErrorCode::aborted, "enough"});
      is_over = true;
    }};
    while (!begins) std::this_thread::yield();
    std::this_thread::sleep_for(time);
    const bool was_over = is_over;  // while the result was still written
    bool has_failed = false;
    try {
      reader_->signal(access_, true);
    } catch (const Error&) {
      has_failed = true;
    }
    owner.join();
    return is_good && !was_over && has_failed;
  }
};

TEST(GivenUp, IsWaitedForByTheSendersAbort) {
  EXPECT_TRUE(test::with_enough_time(
      std::chrono::milliseconds{1}, [](auto time) { return GivenUpAccess{}.is_waited_for(time); }));
}

TEST_F(Access, IsNotWaitedForWithoutEnd) {
  ASSERT_NE(reader_->open_result(access_, kOrdinal, kBytes), nullptr);
  EXPECT_FALSE(sender_->abort({ErrorCode::aborted, "enough"}));
}

TEST_F(Access, EndsWithTheReadersAbort) {
  ASSERT_NE(reader_->open_result(access_, kOrdinal, kBytes), nullptr);
  EXPECT_TRUE(reader_->abort({ErrorCode::aborted, "enough"}));
  EXPECT_TRUE(sender_->abort({ErrorCode::aborted, "enough"}));
}

// Private memory, and what went with its header, is moved.
TEST(ShmAccess, IsNoneToWhatIsNotSeen) {
  Host host{2};
  const auto sender = host.transport(0);
  const auto reader = host.transport(1);
  for (const std::size_t bytes : {std::size_t{8}, kBytes, std::size_t{1} << 20}) {
    std::vector<std::byte> sent(bytes, std::byte{3}), received(bytes);
    const Piece from{sent.data(), bytes};
    const Piece into{received.data(), bytes};
    post(*sender, Transfer::Kind::send, {&from, 1});
    post(*reader, Transfer::Kind::wait, {&into, 1});
    std::array<Completion, 1> completions{};
    while (reader->poll(completions) == 0) static_cast<void>(completed(*sender, 1));
    EXPECT_EQ(completions[0].access, kNoAccess);
    EXPECT_EQ(received, sent);
  }
}

// Such a message would mix sent bytes with later stores of its owner.
TEST(ShmAccess, AMessageIsNotDeliveredWhenItsOwnerGaveUp) {
  constexpr std::size_t kLong = std::size_t{4} << 20;  // several polls
  Host host{2};
  const auto memory = make_visible_memory(host.segments[0]);
  std::byte* const data = memory->allocate(kLong);
  const auto sender = host.domain(0).transport(1, kBoth, std::make_shared<FailureSignal>());
  const auto receiver = host.domain(1).transport(1, kBoth, std::make_shared<FailureSignal>());
  const Piece from{data, kLong};
  std::vector<std::byte> received(kLong);
  const Piece into{received.data(), kLong};
  post(*sender, Transfer::Kind::send, {&from, 1});
  post(*receiver, Transfer::Kind::recv, {&into, 1});
  ASSERT_EQ(completed(*receiver, 2), 0u);
  EXPECT_TRUE(sender->abort({ErrorCode::aborted, "enough"}));
  std::memset(data, 1, kLong);
  EXPECT_EQ(completed(*receiver, 100), 0u);
  std::this_thread::sleep_for(2 * kSignalPatience);
  EXPECT_THROW((void)completed(*receiver, 1), Error);
  memory->deallocate(data, kLong);
}

}  // namespace
}  // namespace tutti::shm
