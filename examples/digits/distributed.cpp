// Trains a network to read digits, on many ranks: `tutti run -n 4 distributed --epochs 6`.
#include <cstdio>
#include <exception>
#include <span>

#include <tutti/gradient_sync.hpp>
#include <tutti/tutti.hpp>

#include "arrays.hpp"
#include "options.hpp"

int main(int count, char** words) try {
  const digits::Options options = digits::parse(digits::Program::distributed, count, words);
  tutti::Communicator world = tutti::init();
  const int rank = world.rank(), ranks = world.size();
  const digits::Samples train = digits::draw(options.train, digits::kTrainSeed);
  const digits::Samples test = digits::draw(options.test, digits::kTestSeed, rank, ranks);
  digits::Model model(options.model, digits::kModelSeed);
  tutti::GradientSync sync(world, digits::gradients(model, options), digits::sync_options(options));
  if (options.views) digits::use_views(model, sync);
  sync.broadcast_state(digits::weights(model));

  const std::size_t steps = options.train / options.batch;
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    const auto order = digits::shuffled(options.train, static_cast<std::uint64_t>(epoch));
    double loss = 0;
    for (std::size_t step = 0; step < steps; ++step) {
      const auto batch = std::span{order}.subspan(step * options.batch, options.batch);
      const digits::Samples own = digits::share_of(train, batch, rank, ranks);
      loss += model.forward(own);
      model.backward(own, batch.size(), [&](std::size_t tensor) { sync.ready(tensor); });
      sync.wait();
      model.update(options.rate);
    }
    const std::size_t correct = world.all_reduce(model.correct(test));
    loss = world.all_reduce(loss);
    if (rank == 0) digits::report(epoch, loss, steps * options.batch, correct, options.test);
  }
  if (rank == 0) digits::finish(model, options);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
