// A transport over MPI whose ranks have a failure signal, which reports more than the MPI.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <memory>

#include "backends/mpi/transport.hpp"
#include "tests/support/patience.hpp"

namespace {

bool fails = false;                        // whether the MPI cannot send
bool dawdles = false;                      // whether its sends go on when it returns
MPI_Request under_way = MPI_REQUEST_NULL;  // the latest of those
bool is_seen = false;                      // whether somebody has looked since it ended

int begin_send(MPI_Request* request) {
  is_seen = false;
  const int code = MPI_Grequest_start(
      [](void*, MPI_Status* status) {
        MPI_Status_set_cancelled(status, 0);
        return MPI_Status_set_elements(status, MPI_BYTE, 0);
      },
      [](void*) {
        is_seen = true;
        return MPI_SUCCESS;
      },
      [](void*, int) { return MPI_SUCCESS; }, nullptr, request);
  under_way = *request;
  return code;
}

}  // namespace

extern "C" int PMPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag,
                          MPI_Comm comm, MPI_Request* request) {
  static const auto real = reinterpret_cast<decltype(&PMPI_Isend)>(dlsym(RTLD_NEXT, "PMPI_Isend"));
  if (dawdles) return begin_send(request);
  return fails ? MPI_ERR_OTHER : real(data, count, type, to, tag, comm, request);
}

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

const Error kDeath{ErrorCode::peer_dead, "rank 7 has ended", 7};

class MpiAlarm : public testing::Test {
 protected:
  ~MpiAlarm() override { fails = dawdles = false; }
  void post(Transfer::Kind kind) {
    const Transfer transfer{.kind = kind,
                            .peer = kind == Transfer::Kind::send ? 1 - ranks_.self : 0,
                            .pieces = {&piece_, 1}};
    transport_->post({&transfer, 1});
  }
  std::size_t poll() { return transport_->poll(completions_); }
  /// @return the error that the transport throws in the end.
  Error failure() {
    const auto deadline = std::chrono::steady_clock::now() + kAmple;
    try {
      while (std::chrono::steady_clock::now() < deadline) EXPECT_EQ(poll(), 0U);
    } catch (const Error& error) {
      return error;
    }
    return {ErrorCode::bug, "nothing was thrown"};
  }

  int told_ = 0;
  std::shared_ptr<FailureSignal> failure_signal_ =
      std::make_shared<FailureSignal>([this](const Error&) { ++told_; }, nullptr);
  mpi::Ranks ranks_ = mpi::gather_ranks(MPI_COMM_WORLD, {.timeout = kAmple});
  std::unique_ptr<Transport> transport_ =
      std::make_unique<mpi::MpiTransport>(ranks_, mpi::Options{}, failure_signal_, false);

 private:
  std::array<Completion, 4> completions_{};
  std::byte byte_{};
  Piece piece_{&byte_, 1};
};

TEST_F(MpiAlarm, IsHeardWhereverTheTransportIsCalled) {
  post(Transfer::Kind::recv);
  EXPECT_EQ(poll(), 0U);
  failure_signal_->set_cause(kDeath);
  EXPECT_EQ(failure().culprit(), 7);
  EXPECT_THROW(post(Transfer::Kind::recv), Error);
}

TEST_F(MpiAlarm, TellsTheOthersOfAnAbort) {
  transport_->abort({ErrorCode::timeout, "too late", 0});
  EXPECT_EQ(told_, 1);
  failure_signal_->set_cause(kDeath);  // which all ranks agree on
  EXPECT_EQ(failure().culprit(), 7);
  EXPECT_FALSE(mpi::find_notice(ranks_));
}

TEST_F(MpiAlarm, HasTheFirstWordOfWhatTheMpiReports) {
  fails = true;
  EXPECT_NO_THROW(post(Transfer::Kind::send));
  EXPECT_EQ(poll(), 0U);
  failure_signal_->set_cause(kDeath);
  EXPECT_EQ(failure().culprit(), 7);
}

// The MPI reads what it sends in memory that goes with the transport.
TEST_F(MpiAlarm, EndsNoTransportBeforeItsSends) {
  dawdles = true;
  post(Transfer::Kind::send);
  EXPECT_EQ(poll(), 1U);
  failure_signal_->set_cause(kDeath);
  MPI_Grequest_complete(under_way);
  transport_.reset();
  EXPECT_TRUE(is_seen);
}

TEST_F(MpiAlarm, LetsSendsThatDoNotEndBe) {
  dawdles = true;
  post(Transfer::Kind::send);
  failure_signal_->set_cause(kDeath);
  const Duration start = transport_->now();
  transport_.reset();
  EXPECT_GE(mpi::time_now() - start, mpi::kSendPatience);
  EXPECT_FALSE(is_seen);
  MPI_Grequest_complete(under_way);
  MPI_Wait(&under_way, MPI_STATUS_IGNORE);
}

TEST_F(MpiAlarm, IsNotWaitedForForLong) {
  fails = true;
  EXPECT_NO_THROW(post(Transfer::Kind::send));
  const Error error = failure();
  EXPECT_EQ(error.code(), ErrorCode::transport);
  EXPECT_EQ(error.culprit(), 1 - ranks_.self);
  EXPECT_THROW(post(Transfer::Kind::send), Error);
}

}  // namespace
}  // namespace tutti::test
