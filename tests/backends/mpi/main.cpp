// The main function of tests that run on several ranks. Rank 0 prints what passes, every rank what
// fails; the launcher returns non-zero if any rank does. No collective of the MPI is called between
// MPI_Init and MPI_Finalize: some MPIs spin inside them, where ranks outnumber cores for long.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/crash_frames.hpp"
#include "watchdog.hpp"

namespace {

class RankListener final : public testing::EmptyTestEventListener {
 public:
  explicit RankListener(int rank) : rank_{rank} {}

  void OnTestStart(const testing::TestInfo& test) override {
    name_ = std::string{test.test_suite_name()} + "." + test.name() + " on rank " +
            std::to_string(rank_);
    tutti::test::watch(name_.c_str());
  }
  void OnTestEnd(const testing::TestInfo&) override { tutti::test::watch(""); }
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed() || rank_ == 0) return;  // rank 0 has the printer of GoogleTest
    std::fprintf(stderr, "%s: %s:%d: %s\n", name_.c_str(),
                 result.file_name() == nullptr ? "" : result.file_name(), result.line_number(),
                 result.message());
  }

 private:
  int rank_;
  std::string name_;
};

}  // namespace

// Tests of what is left when the MPI has ended define another one.
[[gnu::weak]] int tutti::test::check_after_finalize() {
  return 0;
}

int main(int argument_count, char** arguments) {
  tutti::detail::print_frames_of_crashes();
  const bool multiple =
      std::any_of(arguments, arguments + argument_count,
                  [](std::string_view text) { return text == "--thread_multiple"; });
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argument_count, &arguments, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED,
                  &level);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  testing::InitGoogleTest(&argument_count, arguments);  // parameters of tests call the MPI
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    delete listeners.Release(listeners.default_result_printer());
    delete listeners.Release(listeners.default_xml_generator());  // one report of a launch
  }
  listeners.Append(new RankListener{rank});  // owned by GoogleTest from now on
  tutti::test::start_watchdog(std::chrono::seconds{TUTTI_WATCHDOG_SECONDS});
  const int failed = RUN_ALL_TESTS();
  tutti::test::watch("MPI_Finalize");
  MPI_Finalize();
  return failed + tutti::test::check_after_finalize();
}
