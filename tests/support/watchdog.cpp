// Linked into a test executable, it ends a test that hangs and names it. It acts by being linked:
// the executables keep GoogleTest's own main.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/crash_frames.hpp"

namespace tutti::harness {
namespace {

constexpr std::chrono::seconds kPatience{TUTTI_WATCHDOG_SECONDS};

/// A thread that waits for the end of each test, though not forever.
class Watchdog final : public ::testing::EmptyTestEventListener {
 public:
  /// A test may fork. Then the thread must not be in an allocator, as while it starts, since the
  /// child would find the allocator locked.
  Watchdog() : thread_{[this] { watch(); }} {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return is_watching_; });
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() override {
    change([this] { over_ = true; });
    thread_.join();
  }

  void OnTestStart(const ::testing::TestInfo& test) override {
    change([&] {
      name_ = std::string{test.test_suite_name()} + "." + test.name();
      ++number_;
    });
  }
  void OnTestEnd(const ::testing::TestInfo& /*test*/) override {
    change([this] { name_.clear(); });
  }

 private:
  template <class Change>
  void change(Change apply) {
    {
      const std::scoped_lock lock{mutex_};
      apply();
    }
    changed_.notify_one();
  }

  void watch() {
    std::unique_lock lock{mutex_};
    is_watching_ = true;
    changed_.notify_one();
    while (!over_) {
      const auto number = number_;
      const auto moved_on = [&] { return over_ || name_.empty() || number_ != number; };
      if (name_.empty()) {
        changed_.wait(lock, [this] { return over_ || !name_.empty(); });
      } else if (!changed_.wait_for(lock, kPatience, moved_on)) {
        std::fprintf(stderr, "watchdog: %s hangs\n", name_.c_str());
        std::abort();
      }
    }
  }

  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::string name_{};        // of the running test; empty between tests
  std::uint64_t number_ = 0;  // tests started, so that equal names differ
  bool over_ = false;
  bool is_watching_ = false;
  std::thread thread_;  // last, for it uses the others
};

/// Installs the watchdog once GoogleTest starts, which then owns it.
class Installer final : public ::testing::Environment {
 public:
  Installer() { detail::print_frames_of_crashes(); }
  void SetUp() override {
    if (!installed_) ::testing::UnitTest::GetInstance()->listeners().Append(new Watchdog);
    installed_ = true;
  }

 private:
  bool installed_ = false;  // with --gtest_repeat, SetUp runs again
};

[[maybe_unused]] const auto* const kInstaller = ::testing::AddGlobalTestEnvironment(new Installer);

}  // namespace
}  // namespace tutti::harness
