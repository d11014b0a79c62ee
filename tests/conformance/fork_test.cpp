// A forked child has copies of its parent's links. No use of them harms the parent.
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <tutti/spi/fork_guard.hpp>

#include "backends/shm/domain.hpp"

#include "group.hpp"

namespace tutti::conformance {
namespace {

constexpr int kThrew = 99;

/// Runs a function in a child. @return what it returned, kThrew, or -1 if it did not end.
int run_in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    int status = kThrew;
    try {
      status = body();
    } catch (...) {
    }
    _exit(status);
  }
  for (int i = 0; i < 10000; ++i) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  ::kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -1;
}

bool is_refused(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code() == ErrorCode::invalid_argument &&
           std::string{error.what()}.find("fork") != std::string::npos;
  }
  return false;
}

TEST(ForkGuard, IsForkedInTheChildAlone) {
  const ForkGuard guard;
  EXPECT_FALSE(guard.is_forked());
  EXPECT_NO_THROW(guard.check());
  EXPECT_EQ(run_in_child([&] {
              const bool grandchild = run_in_child([&] { return guard.is_forked() ? 7 : 0; }) == 7;
              const ForkGuard own;
              return guard.is_forked() && grandchild && !own.is_forked() &&
                             is_refused([&] { guard.check(); })
                         ? 7
                         : 0;
            }),
            7);
  EXPECT_FALSE(guard.is_forked());
}

TEST(ForkGuard, MakesAnAlarmSilent) {
  int told = 0;
  FailureSignal failure_signal{[&](const Error&) { ++told; }, std::make_shared<ForkGuard>()};
  EXPECT_EQ(run_in_child([&] {
              failure_signal.raise({ErrorCode::timeout, "of the child"});
              return is_refused([&] { failure_signal.check(); }) ? told : 50;
            }),
            0);
  failure_signal.raise({ErrorCode::timeout, "of the parent"});
  EXPECT_EQ(told, 1);
}

TEST(VisibleMemory, IsNotGivenBackByAChild) {
  const auto segment = shm::make_segment(std::size_t{1} << 26);
  const auto memory = shm::make_visible_memory(segment);
  std::byte* const data = memory->allocate(8192);
  data[5000] = std::byte{42};
  EXPECT_EQ(run_in_child([&] {
              const bool refused = is_refused([&] { static_cast<void>(memory->allocate(64)); });
              memory->deallocate(data, 8192);
              return refused ? 7 : 0;
            }),
            7);
  EXPECT_EQ(data[5000], std::byte{42});
  memory->deallocate(data, 8192);
}

class Forks : public ::testing::TestWithParam<Setting> {
 protected:
  int size_ = GetParam().size;
  std::unique_ptr<Links> links_ = GetParam().backend.connect({.size = size_});
  std::unique_ptr<Group> group_ = std::make_unique<Group>(*links_, size_);

  /// A child tries all there is, and ends its copies. @return 7 if it was refused throughout.
  int abuse() {
    bool refused = true;
    const Bytes word(8);
    const Piece piece{const_cast<std::byte*>(word.data()), word.size()};
    const Transfer transfer{
        .kind = Transfer::Kind::send, .peer = 0, .pieces = std::span{&piece, 1}};
    std::array<Completion, 4> completions{};
    for (Rank rank = 0; rank < size_; ++rank) {
      Transport& transport = (*group_)[rank];
      refused = refused && is_refused([&] { transport.post(std::span{&transfer, 1}); });
      refused = refused && is_refused([&] { static_cast<void>(transport.poll(completions)); });
      transport.abort({ErrorCode::timeout, "of the child"});
      refused = refused && is_refused([&] {
                  std::vector<Rank> members(static_cast<std::size_t>(size_));
                  std::iota(members.begin(), members.end(), 0);
                  static_cast<void>(links_->transport(
                      rank, {.communicator = 77,
                             .members = members,
                             .failure_signal = std::make_shared<FailureSignal>()}));
                });
    }
    group_.reset();
    links_.reset();
    return refused ? 7 : 0;
  }
};

TEST_P(Forks, AreRefusedAndDisturbNobody) {
  const Rank last = size_ - 1;
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{3} << 20}) {
    const Bytes out = pattern(bytes, 1);
    Bytes in(bytes);
    Bytes back(bytes);
    group_->receive(0, last, back);
    group_->send(0, last, out);
    group_->step();  // a part of a long one may be there now
    EXPECT_EQ(run_in_child([this] { return abuse(); }), 7);
    group_->receive(last, 0, in);
    group_->send(last, 0, out);
    ASSERT_TRUE(group_->finish());
    EXPECT_TRUE(in == out && back == out);
  }
  group_->linger();
  for (Rank rank = 0; rank < size_; ++rank) EXPECT_FALSE(group_->error(rank).has_value());
}

std::vector<Setting> real_settings() {
  std::vector<Setting> all = settings();
  std::erase_if(all, [](const Setting& setting) {
    return setting.backend.name == "sim" || setting.size > 3;
  });
  return all;
}

INSTANTIATE_TEST_SUITE_P(Conformance, Forks, ::testing::ValuesIn(real_settings()), name_of);

}  // namespace
}  // namespace tutti::conformance
