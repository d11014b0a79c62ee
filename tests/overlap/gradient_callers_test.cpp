// A GradientSync and what stands on it serve one thread at a time: who comes second gets an error,
// and who came first its result. Callbacks and forked children may not call it.
#include <atomic>
#include <filesystem>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <tutti/training.hpp>

#include "gradients.hpp"

namespace tutti::test {
namespace {

const Setting kTwoCallers{2, "auto", 1};
const Setting kThreeCallers{3, "auto", 1};

/// @return what a call throws as Error{invalid_argument}, or nothing.
std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
    return error.what();
  }
  return {};
}

/// A thread in a call that is to be found there. It calls again where await_caller was in a call
/// before.
class FirstCaller {
 public:
  explicit FirstCaller(std::function<void()> call)
      : thread_{[call = std::move(call)] {
          while (refusal_of(call).find("two threads at once") != std::string::npos)
            std::this_thread::yield();
        }} {}
  void join() { thread_.join(); }

 private:
  std::thread thread_;
};

/// Calls again and again what changes nothing, until another thread is found to be in a call.
void await_caller(const std::function<void()>& call) {
  while (refusal_of(call).find("two threads at once") == std::string::npos)
    std::this_thread::yield();
}

void expect_second_refused(const char* name, const std::function<void()>& call) {
  EXPECT_NE(refusal_of(call).find("two threads at once"), std::string::npos) << name;
}

TEST(GradientCallers, AreOneThreadAtATime) {
  std::atomic<bool> is_found = false;
  train(kTwoCallers, [&](Communicator& world) {
    Model model{{1000, 10}};
    const std::vector<Parameter> arrays = model.parameters();
    GradientSync sync{world, arrays, {.order = GradientOrder::reversed}};
    model.go_backward(sync, world.rank(), 0);
    if (world.rank() == 1) {
      while (!is_found) std::this_thread::yield();
      sync.wait();
    } else {
      FirstCaller first{[&] { EXPECT_EQ(sync.wait().step, 1U); }};
      await_caller([&] { sync.synchronize(); });
      expect_second_refused("wait", [&] { sync.wait(); });
      expect_second_refused("join", [&] { sync.join(); });
      expect_second_refused("broadcast_state", [&] { sync.broadcast_state(arrays); });
      expect_second_refused("verify_state", [&] { sync.verify_state(arrays); });
      expect_second_refused("average_buffers", [&] { sync.average_buffers(arrays); });
      expect_second_refused("write_trace", [&] { sync.write_trace("/nowhere/trace"); });
      is_found = true;
      first.join();
    }
    EXPECT_TRUE(model.is_mean(2, 0));
    for (int step = 1; step < 4; ++step) {
      model.go_backward(sync, world.rank(), step);
      sync.wait();
      EXPECT_TRUE(model.is_mean(2, step)) << step;
    }
  });
}

TEST(GradientCallers, MakeOtherCallsBetweenSteps) {
  train(kTwoCallers, [](Communicator& world) {
    Model model{{10, 20}};
    const std::vector<Parameter> arrays = model.parameters();
    GradientSync sync{world, arrays};
    model.fill(1, world.rank(), 0);
    sync.ready(1);
    const std::vector<std::pair<const char*, std::function<void()>>> calls{
        {"broadcast_state", [&] { sync.broadcast_state(arrays); }},
        {"verify_state", [&] { sync.verify_state(arrays); }},
        {"average_buffers", [&] { sync.average_buffers(arrays); }},
        {"synchronize", [&] { sync.synchronize(); }},
        {"write_trace", [&] { sync.write_trace("/nowhere/trace"); }}};
    for (const auto& [name, call] : calls) {
      const std::string text = refusal_of(call);
      EXPECT_NE(
          text.find(std::string{name} + " is called within a step, since parameter 1 'layer1'"),
          std::string::npos)
          << text;
    }
    model.fill(0, world.rank(), 0);
    sync.ready(0);
    sync.wait();
    EXPECT_TRUE(model.is_mean(2, 0));
    sync.average_buffers(arrays);
  });
}

TEST(GradientCallers, AreNoCallbacks) {
  train(kThreeCallers, [](Communicator& world) {
    Model model{{10, 20}};
    GradientSync* own = nullptr;
    const std::vector<Parameter> arrays = model.parameters();
    int refused = 0;
    bool throws = true;
    const auto call_all = [&] {
      const std::vector<std::function<void()>> calls{[&] { own->wait(); },
                                                     [&] { own->join(); },
                                                     [&] { own->broadcast_state(arrays); },
                                                     [&] { own->verify_state(arrays); },
                                                     [&] { own->average_buffers(arrays); },
                                                     [&] { own->synchronize(); },
                                                     [&] { own->write_trace("/nowhere/trace"); }};
      for (const auto& call : calls)
        refused +=
            refusal_of(call).find("called by its own on_bucket") == std::string::npos ? 0 : 1;
      EXPECT_FALSE(own->order().empty()) << "what only tells may be called";
    };
    GradientSync sync{world, arrays, {.on_bucket = [&](const ReducedBucket& bucket) {
                        if (!bucket.is_last) return;
                        call_all();
                        if (throws && world.rank() == 2) own->wait();
                      }}};
    own = &sync;
    model.go_backward(sync, world.rank(), 0);
    try {
      sync.wait();
      ADD_FAILURE() << "rank 2's callback threw";
    } catch (const Error& error) {
      EXPECT_EQ(error.culprit(), 2) << error.what();
      EXPECT_NE(std::string{error.what()}.find("called by its own on_bucket"), std::string::npos)
          << error.what();
    }
    throws = false;
    EXPECT_EQ(refused, 7);
    model.go_backward(sync, world.rank(), 1);
    sync.wait();
    EXPECT_EQ(refused, 14);
    EXPECT_TRUE(model.is_mean(3, 1));
  });
}

/// In a callback that comes while the program waits, and in one that comes before.
TEST(GradientCallers, MayNotDestroyItInACallback) {
  for (const bool waits : {true, false}) {
    std::array<std::string, 3> texts;
    train(kThreeCallers, [&](Communicator& world) {
      Model model{{10}};
      std::unique_ptr<GradientSync> sync;
      std::atomic<bool> is_gone = false;
      sync = std::make_unique<GradientSync>(
          world, model.parameters(), GradientOptions{.on_bucket = [&](const ReducedBucket&) {
            if (world.rank() != 1) return;
            std::this_thread::sleep_for(milliseconds{waits ? 100 : 0});
            sync.reset();
            is_gone = true;
          }});
      model.go_backward(*sync, world.rank(), 0);
      const Clock::time_point begin = Clock::now();
      std::string& text = texts[static_cast<std::size_t>(world.rank())];
      if (world.rank() != 1 || waits) try {
          sync->wait();
        } catch (const Error& error) {
          EXPECT_EQ(error.culprit(), 1) << error.what();
          text = error.what();
        }
      else
        while (!is_gone) std::this_thread::yield();
      EXPECT_LT(Clock::now() - begin, std::chrono::seconds{20}) << "no deadline is waited for";
      EXPECT_NO_THROW(world.barrier());
    });
    if (!waits) texts[1] = texts[0];
    for (const std::string& text : texts)
      EXPECT_NE(text.find("destroyed the GradientSync on rank 1"), std::string::npos) << text;
  }
}

TEST(PeriodicCallers, AreOneThreadAtATime) {
  std::atomic<bool> is_found = false;
  train(kTwoCallers, [&](Communicator& world) {
    std::vector<float> weights(1000, 1);
    PeriodicSync sync{world, std::vector{Parameter::of("weights", weights)}};
    for (float& x : weights) x += static_cast<float>(world.rank());
    if (world.rank() == 1) {
      while (!is_found) std::this_thread::yield();
      sync.exchange_now();
    } else {
      FirstCaller first{[&] { sync.exchange_now(); }};
      await_caller([&] { static_cast<void>(sync.state()); });
      expect_second_refused("step", [&] { sync.step(); });
      expect_second_refused("exchange_now", [&] { sync.exchange_now(); });
      is_found = true;
      first.join();
    }
    EXPECT_FLOAT_EQ(weights[3], 1.5F);
  });
}

/// While one thread is in a call that is made of several, another one calls its communicator.
TEST(CallersOfWorlds, AreOneThreadAtATime) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("tutti_callers_" + std::to_string(getpid())))
          .string();
  std::vector<float> saved(10);
  const std::vector arrays{Parameter::of("array", saved)};
  const std::vector<std::pair<const char*, std::function<void(Communicator&)>>> calls{
      {"save_checkpoint", [&](Communicator& world) { save_checkpoint(world, path, arrays); }},
      {"once_per_node", [](Communicator& world) { once_per_node(world, "key", [] {}); }},
      {"SharedArray",
       [](Communicator& world) {
         const SharedArray<int> array{world, 10};
       }},
      {"GradientSync", [](Communicator& world) {
         Model model{{10}};
         const GradientSync sync{world, model.parameters()};
       }}};
  for (const auto& [name, call] : calls) {
    std::atomic<bool> is_found = false;
    train(kTwoCallers, [&, name = name, call = call](Communicator& world) {
      if (world.rank() == 1) {
        while (!is_found) std::this_thread::yield();
        return call(world);
      }
      FirstCaller first{[&] { call(world); }};
      await_caller([&] { static_cast<void>(world.explain(call::barrier())); });
      expect_second_refused(name, [&] { world.barrier(); });
      is_found = true;
      first.join();
    });
  }
  std::filesystem::remove(path);
}

TEST(CallersOfWorlds, AreNotFunctionsOfOncePerNode) {
  train(kTwoCallers, [](Communicator& world) {
    try {
      once_per_node(world, "key", [&] { world.barrier(); });
      ADD_FAILURE() << "the function called the communicator";
    } catch (const Error& error) {
      EXPECT_EQ(error.culprit(), 0);
      EXPECT_NE(std::string{error.what()}.find("within one of its own calls"), std::string::npos)
          << error.what();
    }
    EXPECT_NO_THROW(world.barrier());
  });
}

TEST(MetricCallers, AreOneThreadAtATime) {
  std::atomic<bool> is_found = false;
  train(kTwoCallers, [&](Communicator& world) {
    MetricReducer metrics;
    metrics.add_count("samples", 5);
    if (world.rank() == 1) {
      while (!is_found) std::this_thread::yield();
      EXPECT_EQ(metrics.reduce(world).at("samples").count, 10);
      return;
    }
    FirstCaller first{[&] { EXPECT_EQ(metrics.reduce(world).at("samples").count, 10); }};
    await_caller([&] { metrics.add_count("samples", 0); });
    expect_second_refused("add_sum", [&] { metrics.add_sum("loss", 1); });
    expect_second_refused("reduce", [&] { static_cast<void>(metrics.reduce(world)); });
    is_found = true;
    first.join();
    const MetricReducer copy = metrics;
    EXPECT_EQ(copy.own().size(), 1U);
  });
}

/// Runs a function in a child. @return what it returned, or -1 if it did not end.
int in_forked_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  for (int i = 0; i < 1000; ++i) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    std::this_thread::sleep_for(milliseconds{10});
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -1;
}

TEST(GradientCallers, AreNotForkedChildren) {
  train({1, "auto", 1}, [](Communicator& world) {
    Model model{{10}};
    auto sync = std::make_unique<GradientSync>(world, model.parameters());
    std::vector<float> weights(10);
    PeriodicSync periodic{world, std::vector{Parameter::of("weights", weights)}};
    model.go_backward(*sync, 0, 0);
    EXPECT_EQ(in_forked_child([&] {
                int refused = 0;
                const std::vector<std::function<void()>> calls{
                    [&] { sync->wait(); }, [&] { sync->join(); }, [&] { sync->synchronize(); },
                    [&] { periodic.exchange_now(); }};
                for (const auto& call : calls)
                  refused +=
                      refusal_of(call).find("child forked from that") == std::string::npos ? 0 : 1;
                sync.reset();
                return refused;
              }),
              4);
    sync->wait();
    EXPECT_TRUE(model.is_mean(1, 0));
    periodic.exchange_now();
  });
}

}  // namespace
}  // namespace tutti::test
