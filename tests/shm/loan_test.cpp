// Messages that stay in the sender's memory, answers written there, and ranks that take theirs
// back.
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "pair.hpp"

namespace tutti::shm {
namespace {

constexpr std::size_t kLoanBytes = 40000;
constexpr std::uint32_t kTag = 5;
constexpr std::uint32_t kTurn = 3;

/// Rank 0 lends a message and says where its answer may be; rank 1 has it.
class Loan : public ::testing::Test {
 protected:
  Loan() {
    message_ = memory_->allocate(kLoanBytes);
    answer_ = memory_->allocate(kLoanBytes);
    std::memset(message_, 1, kLoanBytes);
    std::memset(answer_, 2, kLoanBytes);
    send_ = {message_, kLoanBytes};
    receive_ = {answer_, kLoanBytes};
    const Transfer transfer{.kind = Transfer::Kind::send,
                            .peer = 1,
                            .tag = kTag,
                            .pieces = {&send_, 1},
                            .reply = {answer_, kLoanBytes, kTurn}};
    lender_->post({&transfer, 1});
    take(Transfer{.kind = Transfer::Kind::recv,
                  .peer = 0,
                  .tag = kTag,
                  .pieces = {&into_, 1},
                  .may_lend = true});
  }
  ~Loan() override {
    memory_->deallocate(message_, kLoanBytes);
    memory_->deallocate(answer_, kLoanBytes);
  }

  void take(const Transfer& transfer) {
    borrower_->post({&transfer, 1});
    std::array<Completion, 2> completions{};
    ASSERT_EQ(borrower_->poll(completions), 1u);
    loan_ = completions[0].loan;
    ASSERT_NE(loan_, kNoLoan);
    EXPECT_EQ(std::memcmp(completions[0].lent, message_, kLoanBytes), 0);
    EXPECT_EQ(completed(*lender_), 0u) << "it is still being read";
  }
  void post_receive() {
    const Transfer transfer{
        .kind = Transfer::Kind::recv, .peer = 1, .tag = kTag, .pieces = {&receive_, 1}};
    lender_->post({&transfer, 1});
  }
  std::unique_ptr<Transport> join(Rank rank) {
    // Each has an alarm of its own.
    return host_.domain(rank).transport(1, kBoth, std::make_shared<Alarm>());
  }

  Host host_{2};
  std::shared_ptr<Memory> memory_ = make_visible_memory(host_.segments[0]);
  std::unique_ptr<Transport> lender_ = join(0);
  std::unique_ptr<Transport> borrower_ = join(1);
  std::byte* message_ = nullptr;
  std::byte* answer_ = nullptr;
  std::vector<std::byte> elsewhere_ = std::vector<std::byte>(kLoanBytes, std::byte{9});
  Piece send_{};
  Piece receive_{};
  Piece into_{elsewhere_.data(), kLoanBytes};
  LoanId loan_ = kNoLoan;
};

TEST_F(Loan, IsAnsweredWhereTheAnswerBelongs) {
  std::byte* const place = borrower_->reply_to(loan_, kTurn, kLoanBytes);
  ASSERT_NE(place, nullptr);
  std::memset(place, 7, kLoanBytes);
  borrower_->end_loan(loan_, true);
  EXPECT_EQ(completed(*lender_), 1u);
  post_receive();
  EXPECT_EQ(completed(*lender_), 1u);
  EXPECT_EQ(std::memcmp(answer_, std::vector(kLoanBytes, std::byte{7}).data(), kLoanBytes), 0);
  EXPECT_EQ(elsewhere_, std::vector(kLoanBytes, std::byte{9})) << "a lent message is not moved";
}

TEST_F(Loan, IsAnsweredToAReceiveThatIsThere) {
  ASSERT_NE(borrower_->reply_to(loan_, kTurn, kLoanBytes), nullptr);
  post_receive();
  EXPECT_EQ(completed(*lender_), 0u);
  borrower_->end_loan(loan_, true);
  EXPECT_EQ(completed(*lender_), 2u);
}

TEST_F(Loan, IsNotAnsweredByAnotherMessage) {
  EXPECT_EQ(borrower_->reply_to(loan_, kTurn - 1, kLoanBytes), nullptr);
  EXPECT_EQ(borrower_->reply_to(loan_, kTurn, kLoanBytes - 1), nullptr);
  borrower_->end_loan(loan_, false);
  EXPECT_EQ(completed(*lender_), 1u);
  post_receive();
  EXPECT_EQ(completed(*lender_), 0u);
  const Transfer transfer{
      .kind = Transfer::Kind::send, .peer = 0, .tag = kTag, .pieces = {&into_, 1}};
  borrower_->post({&transfer, 1});
  while (completed(*lender_, 1) == 0) (void)completed(*borrower_, 1);
  EXPECT_EQ(std::memcmp(answer_, elsewhere_.data(), kLoanBytes), 0);
}

TEST_F(Loan, OfARankThatGaveUpIsWorthNothing) {
  EXPECT_TRUE(lender_->abort({ErrorCode::aborted, "enough"}));
  EXPECT_EQ(borrower_->reply_to(loan_, kTurn, kLoanBytes), nullptr);
  EXPECT_THROW(borrower_->end_loan(loan_, false), Error);
}

TEST_F(Loan, IsWaitedForByItsOwnersAbort) {
  ASSERT_NE(borrower_->reply_to(loan_, kTurn, kLoanBytes), nullptr);
  std::atomic<bool> is_over = false;
  std::thread owner{[&] {
    EXPECT_TRUE(lender_->abort({ErrorCode::aborted, "enough"}));
    is_over = true;
  }};
  std::this_thread::sleep_for(std::chrono::milliseconds{10});
  EXPECT_FALSE(is_over) << "the answer is still being written";
  EXPECT_THROW(borrower_->end_loan(loan_, true), Error);
  owner.join();
}

TEST_F(Loan, IsNotWaitedForWithoutEnd) {
  ASSERT_NE(borrower_->reply_to(loan_, kTurn, kLoanBytes), nullptr);
  EXPECT_FALSE(lender_->abort({ErrorCode::aborted, "enough"}));
}

TEST_F(Loan, EndsWithTheBorrowersAbort) {
  ASSERT_NE(borrower_->reply_to(loan_, kTurn, kLoanBytes), nullptr);
  EXPECT_TRUE(borrower_->abort({ErrorCode::aborted, "enough"}));
  EXPECT_TRUE(lender_->abort({ErrorCode::aborted, "enough"}));
}

// Else it would be a mixture of what was sent and what its owner did with its memory afterwards.
TEST(ShmLoan, AMessageIsNotDeliveredWhenItsOwnerGaveUp) {
  constexpr std::size_t kLong = std::size_t{4} << 20;  // several polls
  Host host{2};
  const auto memory = make_visible_memory(host.segments[0]);
  std::byte* const data = memory->allocate(kLong);
  const auto sender = host.domain(0).transport(1, kBoth, std::make_shared<Alarm>());
  const auto receiver = host.domain(1).transport(1, kBoth, std::make_shared<Alarm>());
  const Piece from{data, kLong};
  std::vector<std::byte> received(kLong);
  const Piece into{received.data(), kLong};
  post(*sender, Transfer::Kind::send, {&from, 1});
  post(*receiver, Transfer::Kind::recv, {&into, 1});
  ASSERT_EQ(completed(*receiver, 2), 0u);
  EXPECT_TRUE(sender->abort({ErrorCode::aborted, "enough"}));
  std::memset(data, 1, kLong);
  EXPECT_EQ(completed(*receiver, 100), 0u);
  std::this_thread::sleep_for(2 * kAlarmPatience);
  EXPECT_THROW((void)completed(*receiver, 1), Error);
  memory->deallocate(data, kLong);
}

}  // namespace
}  // namespace tutti::shm
