// An operator may end the handles of its own call, the communicator among them: the call comes to
// its end all the same.
#include <cstring>
#include <optional>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>

#include "tests/backends/shm/pair.hpp"
#include "tests/collectives/rows.hpp"

namespace tutti::harness {
namespace {

using Vector = std::vector<long>;

/// Two ranks, of which rank 0 has handles that an operator may end.
struct EndingPair {
  shm::Host host{2};
  std::optional<Communicator> own;
  Communicator other;
  Vector ours{1}, theirs{2};

  explicit EndingPair(const CommunicatorOptions& options = {})
      : own{make_communicator(host.transport(0), make_host_memory(), options)},
        other{make_communicator(host.transport(1), make_host_memory(), options)} {}

  /// @param inside is called by rank 0's operator. @return a sum.
  [[nodiscard]] static Operator sum_with(std::function<void()> inside) {
    return {[inside = std::move(inside)](const void* left, const void* right, void* out,
                                         std::size_t count) {
              for (std::size_t i = 0; i < count; ++i) {
                long a = 0, b = 0;
                std::memcpy(&a, static_cast<const long*>(left) + i, sizeof a);
                std::memcpy(&b, static_cast<const long*>(right) + i, sizeof b);
                static_cast<long*>(out)[i] = a + b;
              }
              if (inside) inside();
            },
            true};
  }
  /// Rank 1 takes part while a function runs. @param by_plan whether in a plan, as rank 0 does.
  template <class Function>
  void reduce(Function function, bool by_plan = false) {
    std::thread thread{[this, by_plan] {
      const Options how{.algorithm = "recursive_doubling"};
      if (!by_plan) return other.all_reduce(theirs, sum_with({}), how);
      Plan plan = other.plan().all_reduce(theirs, sum_with({}), how);
      plan.start();
      plan.wait();
    }};
    function();
    thread.join();
    EXPECT_EQ(theirs, Vector{3});
  }
};

const Options kOptions{.algorithm = "recursive_doubling"};

TEST(HandlesThatEndWithinACall, MayBeItsCommunicator) {
  EndingPair pair;
  pair.reduce([&] {
    pair.own->all_reduce(pair.ours, EndingPair::sum_with([&] { pair.own.reset(); }), kOptions);
  });
  EXPECT_FALSE(pair.own);
  EXPECT_EQ(pair.ours, Vector{3});
}

TEST(HandlesThatEndWithinACall, MayBeAssignedOver) {
  EndingPair pair;
  sim::Cluster alone{{.size = 1}};
  pair.reduce([&] {
    const Operator op = EndingPair::sum_with(
        [&] { *pair.own = make_communicator(alone.transport(0), make_host_memory()); });
    pair.own->all_reduce(pair.ours, op, kOptions);
  });
  EXPECT_EQ(pair.ours, Vector{3});
  EXPECT_EQ(pair.own->size(), 1);
  pair.own->barrier();
}

TEST(HandlesThatEndWithinACall, MayBeItsRequestAndItsCommunicator) {
  for (const bool waits : {true, false}) {
    EndingPair pair;
    std::optional<Request> request;
    const Operator op = EndingPair::sum_with([&] {
      request.reset();
      pair.own.reset();
    });
    request = pair.own->async().all_reduce(pair.ours, op, kOptions);
    pair.reduce([&] {
      if (waits) request->wait();
      while (request && !request->test()) std::this_thread::yield();
    });
    EXPECT_FALSE(request);
    EXPECT_EQ(pair.ours, Vector{3}) << waits;
  }
}

TEST(HandlesThatEndWithinACall, MayBeItsPlanAndItsCommunicator) {
  EndingPair pair;
  std::optional<Plan> plan;
  const Operator op = EndingPair::sum_with([&] {
    plan.reset();
    pair.own.reset();
  });
  plan = pair.own->plan().all_reduce(pair.ours, op, kOptions);
  plan->start();
  pair.reduce([&] { plan->wait(); }, true);
  EXPECT_FALSE(plan);
  EXPECT_EQ(pair.ours, Vector{3});
}

// A thread that all communicators of the process share calls it.
TEST(HandlesThatEndWithinACall, MayEndInTheProgressThread) {
  EndingPair pair{{.progress_thread = true}};
  std::atomic<bool> is_over = false;
  std::optional<Request> request;
  const Operator op = EndingPair::sum_with([&] {
    pair.own.reset();
    is_over = true;
  });
  request = pair.own->async().all_reduce(pair.ours, op, kOptions);
  pair.reduce([&] {
    while (!is_over) std::this_thread::yield();
    request->wait();
  });
  EXPECT_EQ(pair.ours, Vector{3});
}

TEST(HandlesThatEndInAForkedChild, LeaveTheProgressThreadToItsParent) {
  EndingPair pair{{.progress_thread = true}};
  std::optional<Request> pending =
      pair.own->async().all_reduce(pair.ours, EndingPair::sum_with({}), kOptions);
  const pid_t child = fork();
  if (child == 0) {
    pending.reset();
    pair.own.reset();
    EndingPair alone{{.progress_thread = true}};
    Vector sent{5}, received(1);
    Request request = alone.own->async().recv(received, 0);
    alone.own->send(sent, 0);
    request.wait();
    _exit(received == sent ? 7 : 0);
  }
  int status = 0;
  for (int i = 0; i < 2000 && waitpid(child, &status, WNOHANG) != child; ++i) {
    if (i == 1999) kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  pair.reduce([&] { pending->wait(); });
  EXPECT_EQ(pair.ours, Vector{3});
}

}  // namespace
}  // namespace tutti::harness
