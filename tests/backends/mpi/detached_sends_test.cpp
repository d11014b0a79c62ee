// Small sends that are looked at late: what the MPI says of them is kept.
#include "backends/mpi/detached_sends.hpp"
#include <gtest/gtest.h>
#include "backends/mpi/check.hpp"

#include <tutti/error.hpp>

namespace tutti::test {
namespace {

// A request that is done and has failed, as one to a dead rank.
int fail_query(void* state, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  return *static_cast<int*>(state);
}
int free_nothing(void*) {
  return MPI_SUCCESS;
}
int cancel_nothing(void*, int) {
  return MPI_SUCCESS;
}

MPI_Request ended_with(int& code) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Grequest_start(fail_query, free_nothing, cancel_nothing, &code, &request);
  MPI_Grequest_complete(request);
  return request;
}

TEST(MpiDepartures, KeepTheErrorAndTheReceiver) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int good = MPI_SUCCESS;
  int bad = MPI_ERR_UNKNOWN;
  mpi::BufferPool pool;
  mpi::DetachedSends detached_sends;
  constexpr Rank kBad = 11;
  for (Rank peer = 0; !detached_sends.is_full(); ++peer)
    detached_sends.add(ended_with(peer == kBad ? bad : good), peer, pool.get());
  try {
    detached_sends.make_room(pool);
    ADD_FAILURE() << "no error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::transport) << error.what();
    EXPECT_EQ(error.culprit(), kBad) << error.what();
    EXPECT_NE(std::string{error.what()}.find("send to rank 11"), std::string::npos) << error.what();
    EXPECT_EQ(std::string{error.what()}.find("status"), std::string::npos) << error.what();
  }
  // One report is enough: all of them have ended, and the others' statuses are not read any more.
  EXPECT_NO_THROW(detached_sends.make_room(pool));
  EXPECT_TRUE(detached_sends.requests().empty());
}

TEST(MpiErrors, SayWhichWayTheMessageWent) {
  const auto said = [](Transfer::Kind kind) {
    try {
      mpi::check(MPI_ERR_UNKNOWN, Transfer{.kind = kind, .peer = 7});
    } catch (const Error& error) {
      EXPECT_EQ(error.culprit(), 7);
      return std::string{error.what()};
    }
    return std::string{};
  };
  EXPECT_NE(said(Transfer::Kind::send).find("cannot send to rank 7"), std::string::npos);
  EXPECT_NE(said(Transfer::Kind::recv).find("cannot receive from rank 7"), std::string::npos);
  EXPECT_NO_THROW(mpi::check(MPI_SUCCESS, Transfer{}));
}

TEST(MpiDepartures, LeaveRoomOnceTheyHaveEnded) {
  int good = MPI_SUCCESS;
  mpi::BufferPool pool;
  mpi::DetachedSends detached_sends;
  while (!detached_sends.is_full()) detached_sends.add(ended_with(good), 0, pool.get());
  detached_sends.make_room(pool);
  EXPECT_FALSE(detached_sends.is_full());
  EXPECT_TRUE(detached_sends.requests().empty());
}

TEST(MpiEndedSends, AreToldFromThoseUnderWay) {
  mpi::EndedSends ended{MPI_COMM_SELF};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request);
  EXPECT_TRUE(ended.release_ended(request, 100));
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  EXPECT_TRUE(ended.has_ended_as_long(100));
  EXPECT_FALSE(ended.has_ended_as_long(101));
  std::byte byte{};
  MPI_Irecv(&byte, 1, MPI_BYTE, 0, 0, MPI_COMM_SELF, &request);
  EXPECT_FALSE(ended.release_ended(request, 1));
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  ended.release();
}

}  // namespace
}  // namespace tutti::test
