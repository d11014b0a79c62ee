// State of an MPI communicator after its transport has ended.
#include <gtest/gtest.h>

#include <numeric>

#include "backends/mpi/network.hpp"
#include "port.hpp"

namespace tutti::test {
namespace {

int frees = 0;  // of duplicates of all ranks, by this process, while there is a FreeCount

// Gives all ranks an attribute, which duplicates inherit, and which says when it is deleted.
class FreeCount {
 public:
  FreeCount() {
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, count, &key_, nullptr);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key_, nullptr);
  }
  FreeCount(const FreeCount&) = delete;
  FreeCount& operator=(const FreeCount&) = delete;
  ~FreeCount() {
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key_);
    MPI_Comm_free_keyval(&key_);
  }

 private:
  static int count(MPI_Comm /*freed*/, int /*key*/, void* /*value*/, void* /*extra*/) {
    ++frees;
    return MPI_SUCCESS;
  }
  int key_ = MPI_KEYVAL_INVALID;
};

// Ranks whose ends are far apart keep theirs, so a busy machine may take a few trials.
TEST(MpiEnd, FreesWhatAllRanksHaveEnded) {
  const FreeCount count;
  Port talk;
  std::vector<std::byte> mine(1), theirs(1);
  for (int trial = 0; trial < 20; ++trial) {
    frees = 0;
    { const Port ended; }
    mine[0] = std::byte{frees == 1};
    for (int hop = 1; hop < talk.size(); ++hop) {  // all have received from all
      talk.receive(talk.left(), theirs, {});
      talk.send(talk.right(), mine, {});
      talk.wait();
      mine[0] &= theirs[0];
    }
    if (mine[0] == std::byte{1}) return;
  }
  ADD_FAILURE() << "some rank never frees";
}

// A communicator that the others have freed may share its context with their next one.
TEST(MpiEnd, LeavesNoOtherCommunicatorToALateNotice) {
  constexpr Rank kFailing = 1;
  Port talk;
  if (talk.size() < 3) return;
  std::vector<Rank> others(static_cast<std::size_t>(talk.size()));
  std::iota(others.begin(), others.end(), 0);
  std::erase(others, kFailing);
  std::vector<std::byte> token(1);
  auto ended = std::make_unique<Port>();
  if (talk.self() == kFailing) {
    for (const Rank rank : others) talk.receive(rank, token, {});
    talk.wait();
    ended->transport().abort({ErrorCode::timeout, "late", 0});
    for (const Rank rank : others) talk.send(rank, token, {});
    talk.wait();
    return;
  }
  ended.reset();
  MPI_Comm next = mpi::subset_of({.comm = MPI_COMM_WORLD}, others);
  talk.send(kFailing, token, {});
  talk.receive(kFailing, token, {});
  talk.wait();
  for (int look = 0; look < 1000; ++look) {
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, next, &found, MPI_STATUS_IGNORE);
    ASSERT_EQ(found, 0);
  }
  MPI_Comm_free(&next);
}

}  // namespace
}  // namespace tutti::test
