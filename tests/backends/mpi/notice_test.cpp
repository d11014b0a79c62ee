// Notices of a failure between ranks.
#include "backends/mpi/notice.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace tutti::test {
namespace {

TEST(MpiNotice, SaysWhatTheCauseSays) {
  const mpi::Notice notice = mpi::make_notice({ErrorCode::timeout, "too late", 3});
  EXPECT_EQ(notice.code, ErrorCode::timeout);
  EXPECT_EQ(notice.culprit, 3);
  EXPECT_EQ(notice.length, 8U);
  EXPECT_EQ(std::strcmp(notice.text.data(), "too late"), 0);
}

TEST(MpiNotice, CutsALongText) {
  const std::string text(5000, 'x');
  const mpi::Notice notice = mpi::make_notice({ErrorCode::bug, text});
  EXPECT_EQ(notice.length, notice.text.size());
  EXPECT_EQ(notice.text.back(), 'x');
}

// A message to the own rank: find_notice does not ask whose it is.
Error heard(const mpi::Notice& notice) {
  mpi::Ranks ranks{.comm = MPI_COMM_SELF, .tag_limit = 7};
  EXPECT_FALSE(mpi::find_notice(ranks));
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(&notice, sizeof notice, MPI_BYTE, 0, mpi::notice_tag(ranks), ranks.comm, &request);
  std::optional<Error> error{};
  while (!error) error = mpi::find_notice(ranks);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return *error;
}

TEST(MpiNotice, IsHeardAsItWasSaid) {
  const Error error = heard(mpi::make_notice({ErrorCode::mismatch, "another count", 1}));
  EXPECT_EQ(error.code(), ErrorCode::aborted);
  EXPECT_EQ(error.cause(), ErrorCode::mismatch);
  EXPECT_EQ(error.culprit(), 1);
  EXPECT_STREQ(error.what(), "rank 0 failed (mismatch): another count");
}

TEST(MpiNotice, IsReadNoFurtherThanItGoes) {
  mpi::Notice notice = mpi::make_notice({ErrorCode::bug, std::string(5000, 'x')});
  const std::size_t front = std::strlen(heard(notice).what()) - notice.text.size();
  notice.length = 100'000'000;
  EXPECT_EQ(std::strlen(heard(notice).what()), front + notice.text.size());
}

}  // namespace
}  // namespace tutti::test
