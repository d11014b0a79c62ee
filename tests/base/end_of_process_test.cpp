// The code that runs when a process ends, or crashes.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include <tutti/spi/per_thread.hpp>

#include "base/crash_frames.hpp"

namespace tutti::test {
namespace {

struct Text {
  std::string text{};
};
using TextOfThread = detail::PerThread<Text>;

void write_late() {
  std::string& text = TextOfThread::get().text;
  if (!text.empty()) _Exit(2);  // that of before has ended
  text.assign(300, 'b');
  _Exit(TextOfThread::get().text == std::string(300, 'b') ? 7 : 3);
}

TEST(PerThread, ServesFunctionsOfTheExit) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        TextOfThread::get().text.assign(200, 'a');
        if (std::atexit(write_late) == 0) std::exit(0);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(PerThread, IsAnotherObjectInEachThread) {
  Text* const own = &TextOfThread::get();
  Text* other = own;
  std::thread{[&] { other = &TextOfThread::get(); }}.join();
  EXPECT_NE(other, own);
  EXPECT_EQ(&TextOfThread::get(), own);
}

// Sanitizers print frames of their own.
TEST(Crashes, PrintTheirFramesAndEndBySignal) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        std::signal(SIGSEGV, SIG_DFL);
        detail::print_frames_of_crashes();
        std::raise(SIGSEGV);
      },
      ::testing::KilledBySignal(SIGSEGV), "crashed; the frames.*(.|\n)*libc");
}

TEST(Crashes, ThatTheProgramHandlesAreLeftAlone) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        std::signal(SIGFPE, [](int) { _Exit(5); });
        detail::print_frames_of_crashes();
        std::raise(SIGFPE);
      },
      ::testing::ExitedWithCode(5), "^$");
}

}  // namespace
}  // namespace tutti::test
