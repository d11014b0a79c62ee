#include "perf/measured_world_gpu.hpp"

#include <utility>

#include <tutti/error.hpp>
#include <tutti/spi/communicator.hpp>

namespace tutti::perf {
namespace {

class GpuWorld final : public MeasuredWorld {
 public:
  GpuWorld(std::unique_ptr<MeasuredWorld> world, std::unique_ptr<cuda::TimedStream> gpu)
      : world_{std::move(world)}, gpu_{std::move(gpu)} {}

  Communicator& communicator() override { return world_->communicator(); }
  bool has_library() const override { return has_library_; }
  std::string library_in_words() const override { return "NCCL"; }
  bool has_native(const Call& call) override {
    // NCCL has no calls with different counts per block.
    if (!call.in_counts.empty() || !call.out_counts.empty() || call.own_counts) return false;
    if (call.point_to_point != PointToPoint::none) return false;
    try {
      static_cast<void>(communicator().plan().run(call, options()));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;
      return false;
    }
    return true;
  }
  void native(const Call& call) override { communicator().run(call, options()); }
  std::unique_ptr<MeasuredWorld> part(std::span<const Rank> ranks) override {
    return world_->part(ranks);
  }
  std::string library() const override { return world_->library(); }
  cuda::TimedStream* gpu() override { return gpu_.get(); }

 private:
  [[nodiscard]] Options options() const {
    return {.algorithm = "native", .stream = gpu_->stream()};
  }

  std::unique_ptr<MeasuredWorld> world_;
  std::unique_ptr<cuda::TimedStream> gpu_;  // uses the world, so it is destroyed first
  bool has_library_ = streams_of(world_->communicator())->name() != "host";
};

}  // namespace

std::unique_ptr<MeasuredWorld> make_gpu_world(std::unique_ptr<MeasuredWorld> world,
                                              std::unique_ptr<cuda::TimedStream> gpu) {
  return std::make_unique<GpuWorld>(std::move(world), std::move(gpu));
}

}  // namespace tutti::perf
