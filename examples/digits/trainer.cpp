// Trains a network to read digits, with every option of tutti:
// `tutti run -n 4 trainer --strategy sharded --model cnn --checkpoint weights.ckpt`.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include <tutti/gradient_sync.hpp>
#include <tutti/training.hpp>
#include <tutti/tutti.hpp>

#include "arrays.hpp"
#include "options.hpp"
#include "timeline.hpp"

namespace digits {
namespace {

// The progress of training, which a checkpoint has besides the arrays.
struct Progress {
  tutti::SamplerState samples{};
  std::uint64_t step = 0;
  double loss = 0;  // of this epoch's samples so far, on all ranks
  std::uint64_t trained = 0;
};

class Trainer {
 public:
  Trainer(tutti::Communicator& world, const Options& options)
      : world_{world}, options_{options}, model_{options.model, kModelSeed},
        train_{draw(options.train, kTrainSeed)}, test_{draw(options.test, kTestSeed, world.rank(),
                                                            world.size())},
        sampler_{options.train,
                 world.size(),
                 world.rank(),
                 {.seed = kTrainSeed, .padding = tutti::SamplePadding::none}} {
    if (options_.strategy == "local-sgd" || options_.strategy == "diloco") make_periodic();
    else make_sync();
    if (!options_.checkpoint.empty()) resume();
  }

  void run() {
    for (auto epoch = sampler_.state().epoch; epoch < static_cast<std::uint64_t>(options_.epochs);
         ++epoch) {
      sampler_.set_epoch(epoch);
      run_epoch(static_cast<int>(epoch) + 1);
      progress_.loss = 0;
      progress_.trained = 0;
      sampler_.set_epoch(epoch + 1);
      if (!options_.checkpoint.empty()) save();
    }
    if (!options_.trace.empty() && sync_) sync_->write_trace(options_.trace);
    if (world_.rank() == 0) finish(model_, options_);
  }

 private:
  // The buckets, and their reduction.
  tutti::GradientOptions gradient_options() {
    tutti::GradientOptions all = sync_options(options_);
    if (!options_.settings.empty()) all = tutti::load_gradient_options(options_.settings, all);
    if (options_.strategy == "per-tensor") all.bucket_bytes = 0;
    if (options_.strategy == "flat") all.bucket_bytes = tutti::GradientOptions::kFlat;
    if (options_.strategy == "negotiated") all.order = tutti::GradientOrder::negotiated;
    if (options_.strategy == "sharded") all.on_shard = [this](auto parts) { update(parts); };
    all.average = options_.uneven > 0;
    all.compression = options_.compression.empty() ? all.compression : options_.compression;
    all.compression_after = options_.compression_after;
    all.algorithm = options_.algorithm.empty() ? all.algorithm : options_.algorithm;
    all.in_flight = options_.in_flight;
    all.check_finite = options_.check_finite;
    all.max_norm = static_cast<double>(options_.clip);
    all.verify_every = options_.verify_every;
    all.resync_every = options_.resync_every;
    // Ranks that only join have old weights.
    if ((options_.verify_every > 0 || options_.resync_every > 0) && options_.uneven == 0)
      all.state = weights(model_);
    all.record = options_.trace.empty() ? 0 : 20;
    return all;
  }

  void make_sync() {
    if (options_.strategy == "sharded" && options_.uneven > 0)
      throw std::invalid_argument{
          "--strategy sharded updates each weight on one rank: --uneven does not go with it"};
    std::vector<tutti::Parameter> arrays = gradients(model_, options_);
    for (std::size_t i = 0; i < arrays.size(); ++i)
      arrays[i].result = model_.tensors()[i]->values.data();
    sync_ = std::make_unique<tutti::GradientSync>(world_, arrays, gradient_options());
    for (const auto& bucket : sync_->shards())
      for (const tutti::ParameterShard& part : bucket) velocity_.resize(part.offset + part.count);
    if (options_.views) use_views(model_, *sync_);
    sync_->broadcast_state(weights(model_));
  }

  void make_periodic() {
    if (options_.views || options_.uneven > 0)
      throw std::invalid_argument{
          "--strategy local-sgd and diloco exchange no gradients: neither "
          "--storage views nor --uneven go with them"};
    tutti::PeriodicOptions all{.period = options_.period};
    if (options_.strategy == "diloco")
      all.outer = tutti::OuterOptimizer{options_.outer_rate, options_.outer_momentum};
    all.exchange.bucket_bytes = options_.bucket_bytes;
    all.exchange.compression = options_.compression;
    std::vector<tutti::Parameter> arrays = weights(model_);
    for (std::size_t i = 0; i < arrays.size(); ++i) arrays[i].rows = model_.tensors()[i]->rows;
    periodic_ = std::make_unique<tutti::PeriodicSync>(world_, arrays, all);
  }

  // Updates this rank's part of each tensor.
  void update(std::span<const tutti::ParameterShard> parts) {
    for (const tutti::ParameterShard& part : parts)
      model_.update_part(part.parameter, part.first, {static_cast<float*>(part.data), part.count},
                         std::span{velocity_}.subspan(part.offset, part.count), options_.rate);
  }

  void run_epoch(int epoch) {
    const auto ranks = static_cast<std::size_t>(world_.size());
    const std::size_t share = std::max<std::size_t>(options_.batch / ranks, 1);
    const std::vector<std::size_t> own = sampler_.indices();
    std::size_t next = 0;
    while (sampler_.state().consumed < options_.train) {
      const std::size_t left = options_.train - sampler_.state().consumed;
      const std::size_t all = std::min(share * ranks, left);
      const std::size_t count = std::min(share, own.size() - next);
      take_step(std::span{own}.subspan(next, count), all);
      next += count;
      sampler_.advance(share);
      progress_.trained += all;
      const auto every = options_.save_every;
      if (!options_.checkpoint.empty() && every > 0 && progress_.step % every == 0) save();
    }
    if (options_.uneven > 0) run_uneven();
    end_epoch(epoch);
  }

  void take_step(std::span<const std::size_t> which, std::size_t all) {
    ++progress_.step;
    if (progress_.step == options_.stop_at && world_.rank() == options_.stop_rank)
      std::raise(SIGKILL);
    // The mean is over the batch of all ranks, or of this one.
    const bool is_alone = periodic_ != nullptr || options_.uneven > 0;
    compute(which, is_alone ? std::max<std::size_t>(which.size(), 1) : all);
    if (periodic_) {
      model_.update(options_.rate);
      periodic_->step();
      return;
    }
    sync_->wait();  // also clips gradients
    // With shards, update was called for each bucket.
    if (options_.strategy != "sharded") model_.update(options_.rate);
  }

  // Forward and backward, in parts. Gradients are reduced during the last part.
  void compute(std::span<const std::size_t> which, std::size_t all) {
    const auto parts = static_cast<std::size_t>(options_.accumulate);
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t first = which.size() * part / parts;
      const std::size_t last = which.size() * (part + 1) / parts;
      const Samples own = share_of(train_, which.subspan(first, last - first), 0, 1);
      const bool overlaps = part + 1 == parts && sync_ && options_.strategy != "after";
      model_.accumulate(part > 0);
      progress_.loss += model_.forward(own);
      model_.backward(own, all, [&](std::size_t tensor) {
        if (overlaps) sync_->ready(tensor);
      });
    }
    if (sync_ && options_.strategy == "after")
      for (std::size_t i = model_.tensors().size(); i-- > 0;) sync_->ready(i);
  }

  // Rank 0 has more samples than others, which join its steps without any of their own.
  void run_uneven() {
    for (std::size_t i = 0; i < options_.uneven && world_.rank() == 0; i += options_.batch) {
      std::vector<std::size_t> which(std::min(options_.batch, options_.uneven - i));
      for (std::size_t sample = 0; sample < which.size(); ++sample)
        which[sample] = (i + sample) % options_.train;
      progress_.trained += which.size();
      take_step(which, which.size());
    }
    sync_->join();
    progress_.step = world_.broadcast(progress_.step, 0);
    progress_.trained = world_.broadcast(progress_.trained, 0);
    sync_->broadcast_state(weights(model_));
    sync_->broadcast_state(velocities(model_));
  }

  void end_epoch(int epoch) {
    if (periodic_) periodic_->exchange_now();
    share_buffers();
    const double loss = world_.all_reduce(progress_.loss);
    const std::size_t correct = world_.all_reduce(model_.correct(test_));
    if (world_.rank() != 0) return;
    report(epoch, loss, progress_.trained, correct, options_.test);
    if (options_.timeline && sync_) std::fputs(timeline(*sync_).c_str(), stdout);
  }

  // Means and variances of batches differ between ranks.
  void share_buffers() {
    if (options_.buffers == "off" || model_.buffers().empty()) return;
    for (Tensor* tensor : model_.buffers()) {
      if (options_.buffers == "mean") world_.all_reduce(tensor->values, tutti::average);
      else world_.broadcast(tensor->values, 0);
    }
  }

  // The arrays that are equal on all ranks.
  std::vector<tutti::Parameter> state() {
    std::vector<tutti::Parameter> arrays = weights(model_);
    const auto append = [&](std::vector<tutti::Parameter> more) {
      arrays.insert(arrays.end(), more.begin(), more.end());
    };
    append(buffers(model_));
    if (periodic_) append(periodic_->state());
    if (options_.strategy != "sharded") append(velocities(model_));
    return arrays;
  }

  // The velocities of this rank's parts of all weights. The checkpoint holds whole velocities.
  std::vector<tutti::Parameter> shards() {
    if (options_.strategy != "sharded") return {};
    return {tutti::Parameter::of("velocity", velocity_)};
  }

  tutti::GradientSync& exchange() { return sync_ ? *sync_ : periodic_->exchange(); }

  void save() {
    if (periodic_) {
      // A checkpoint has the arrays of one rank, so all ranks continue with equal ones.
      periodic_->exchange_now();
      for (Tensor* tensor : model_.tensors()) world_.all_reduce(tensor->velocity, tutti::average);
    }
    share_buffers();
    Progress all = progress_;
    all.samples = sampler_.state();
    all.loss = world_.all_reduce(progress_.loss);
    tutti::save_checkpoint(world_, options_.checkpoint, state(), exchange(), shards(),
                           std::as_bytes(std::span{&all, 1}));
  }

  // Continues from a checkpoint, if there is one, on any number of ranks.
  void resume() {
    const bool is_there = world_.rank() == 0 && std::filesystem::exists(options_.checkpoint);
    if (world_.broadcast(std::uint8_t{is_there}, 0) == 0) return;
    const std::vector<std::byte> extra =
        tutti::load_checkpoint(world_, options_.checkpoint, state(), exchange(), shards());
    if (extra.size() != sizeof progress_)
      throw std::runtime_error{options_.checkpoint + " is of another program"};
    std::memcpy(&progress_, extra.data(), sizeof progress_);
    sampler_ = tutti::DistributedSampler::resume(progress_.samples, world_.size(), world_.rank());
    if (world_.rank() != 0) progress_.loss = 0;
    if (world_.rank() == 0)
      std::printf("going on after step %llu\n", static_cast<unsigned long long>(progress_.step));
  }

  tutti::Communicator& world_;
  const Options& options_;
  Model model_;
  Samples train_, test_;
  tutti::DistributedSampler sampler_;
  std::unique_ptr<tutti::GradientSync> sync_{};
  std::unique_ptr<tutti::PeriodicSync> periodic_{};
  std::vector<float> velocity_{};  // of the parts that this rank owns
  Progress progress_{};
};

}  // namespace
}  // namespace digits

int main(int count, char** words) try {
  const digits::Options options = digits::parse(digits::Program::trainer, count, words);
  tutti::Communicator world = tutti::init();
  digits::Trainer{world, options}.run();
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
