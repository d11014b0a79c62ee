#include "threaded_run.hpp"

#include <thread>
#include <vector>

namespace tutti::harness {

std::string run_in_threads(std::span<Communicator> ranks, const Case& what) {
  Experiment experiment{what};
  std::vector<std::string> problems(ranks.size());
  std::vector<std::thread> threads{};
  for (std::size_t i = 0; i < ranks.size(); ++i)
    threads.emplace_back([&, i] {
      try {
        ranks[i].async().run(experiment.call(static_cast<Rank>(i)), experiment.options()).wait();
      } catch (const Error& error) {
        problems[i] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (!problems[i].empty()) return what.describe() + ": " + problems[i];
    if (const auto wrong = experiment.problem(static_cast<Rank>(i)))
      return what.describe() + ": " + *wrong;
  }
  return {};
}

}  // namespace tutti::harness
