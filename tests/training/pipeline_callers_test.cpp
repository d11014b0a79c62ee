// A Pipeline serves one thread at a time, which is in none of its functions, and is destroyed by
// whomever.
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <tutti/training/pipeline.hpp>

#include "tests/overlap/gradients.hpp"

namespace tutti::test {
namespace {

/// @return what a call throws as Error, or nothing.
std::string error_of(ErrorCode code, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return {};
}

TEST(PipelineCallers, AreOneThreadAtATime) {
  std::atomic<bool> is_found = false;
  std::atomic<int> done = 0;
  Pipeline<int> pipeline{{thread_stage("work", [&](int&) {
    while (!is_found) std::this_thread::yield();
    ++done;
  })}};
  std::thread first{[&] {  // calls again where the other thread was in a call before
    while (error_of(ErrorCode::invalid_argument, [&] {
             EXPECT_EQ(pipeline.run(3).items, 3U);
           }).find("two threads at once") != std::string::npos)
      std::this_thread::yield();
  }};
  while (error_of(ErrorCode::invalid_argument, [&] {
           static_cast<void>(pipeline.report());
         }).find("two threads at once") == std::string::npos)
    std::this_thread::yield();
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { pipeline.poll(); }, [&] { pipeline.start(1); }, [&] { pipeline.run(1); },
           [&] { static_cast<void>(pipeline.suggested_depth()); }})
    EXPECT_NE(error_of(ErrorCode::invalid_argument, call).find("two threads at once"),
              std::string::npos);
  is_found = true;
  first.join();
  EXPECT_EQ(done, 3);
  EXPECT_EQ(pipeline.run(2).items, 2U);
}

TEST(PipelineCallers, AreNoFunctionsOfIt) {
  Pipeline<int>* own = nullptr;
  int refused = 0;
  const auto call_all = [&] {
    for (const auto& call : std::vector<std::function<void()>>{
             [&] { own->poll(); }, [&] { own->start(1); }, [&] { own->run(1); }})
      refused += error_of(ErrorCode::invalid_argument, call).find("within one of its own calls") ==
                         std::string::npos
                     ? 0
                     : 1;
    EXPECT_EQ(own->report().stages.size(), 1U) << "what only tells may be called";
  };
  Pipeline<int> pipeline{{stage(
      "polled", [&](int&) { call_all(); },
      [&](int&) {
        call_all();
        return true;
      })}};
  own = &pipeline;
  pipeline.run([&, left = 2](int&) mutable {
    call_all();
    return left-- > 0;
  });
  EXPECT_EQ(refused, 3 * (2 + 2 + 3));
}

/// In each function, that of a stage's thread too, whether or not somebody waits.
TEST(PipelineCallers, MayDestroyItInAFunction) {
  for (const std::string where : {"source", "start", "test", "thread", "thread alone"}) {
    std::optional<Pipeline<std::vector<int>>> pipeline;
    std::atomic<bool> is_gone = false;
    std::atomic<bool> may_end = where != "thread alone";
    std::atomic<int> items = 0;
    const auto end = [&](const char* here, std::vector<int>& item) {
      if (where.substr(0, std::string{here}.size()) != here || is_gone) return;
      item.assign(100, 1);
      pipeline.reset();
      item.assign(200, 2);  // its slot is there until this has returned
      is_gone = true;
    };
    pipeline.emplace(std::vector<Stage<std::vector<int>>>{
        stage(
            "polled", [&](std::vector<int>& item) { end("start", item); },
            [&](std::vector<int>& item) {
              end("test", item);
              return true;
            }),
        thread_stage("thread", [&](std::vector<int>& item) {
          ++items;
          while (!may_end) std::this_thread::yield();
          end("thread", item);
        })});
    const auto source = [&, left = 5](std::vector<int>& item) mutable {
      end("source", item);
      return left-- > 0;
    };
    if (where == "thread alone") {
      pipeline->start(source);
      while (items == 0) pipeline->poll();
      may_end = true;
      while (!is_gone) std::this_thread::yield();
    } else {
      const std::string text = error_of(ErrorCode::aborted, [&] { pipeline->run(source); });
      EXPECT_EQ(text, "Pipeline: it was destroyed within a run") << where;
    }
    EXPECT_FALSE(pipeline);
    EXPECT_LE(items, 2);
  }
}

TEST(PipelineCallers, AreNotForkedChildren) {
  std::optional<Pipeline<int>> pipeline;
  pipeline.emplace(std::vector<Stage<int>>{thread_stage("work", [](int&) {})});
  pipeline->run(2);
  const pid_t child = fork();
  if (child == 0) {
    const bool is_refused = error_of(ErrorCode::invalid_argument, [&] {
                              pipeline->run(1);
                            }).find("forked") != std::string::npos;
    pipeline.reset();
    _exit(is_refused ? 7 : 0);
  }
  int status = 0;
  for (int i = 0; i < 1000 && waitpid(child, &status, WNOHANG) != child; ++i) {
    if (i == 999) kill(child, SIGKILL);
    std::this_thread::sleep_for(milliseconds{10});
  }
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(pipeline->run(2).items, 2U);
}

}  // namespace
}  // namespace tutti::test
