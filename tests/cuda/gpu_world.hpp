/// @file
/// Ranks of one process, which are threads, and their devices.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tutti/cuda.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>

#include "device_memory.hpp"
#include "devices.hpp"
#include "runtime/world/world.hpp"
#include "tests/runtime/ranks.hpp"
#include "tests/support/each_rank.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {

/// A stream of a device.
class OwnStream {
 public:
  explicit OwnStream(const cuda::Device& device) : stream_{device.make_stream()} {}
  [[nodiscard]] Stream get() const { return stream_.get(); }

 private:
  cuda::OwnedStream stream_;
};

/// All ranks of one process.
class GpuWorld {
 public:
  /// @param size ranks. @param ways what the host's messages go by, such as "shm". @param devices
  /// that the ranks have in turn; 0: all.
  explicit GpuWorld(int size, const std::string& transports = "shm", int devices = 0) {
    const auto channels = test::local_channels(size, true);
    std::vector<std::optional<Communicator>> ranks(static_cast<std::size_t>(size));
    test::expect_no_error(test::run_ranks(size, [&](Rank rank) {
      runtime::WorldOptions options{.transports = runtime::transports_of(transports),
                                    .links = {.segment_bytes = std::size_t{1} << 30U}};
      options.mesh.interface = "127.0.0.1";
      Channel& channel = *channels[static_cast<std::size_t>(rank)];
      const auto world = runtime::World::connect(channel, options, test::in(test::kAmple));
      ranks[static_cast<std::size_t>(rank)] = make_communicator(
          world->communicator_parts(), make_host_memory(), {.timeout = test::kAmple});
    }));
    for (Rank rank = 0; rank < size; ++rank) {
      ranks_.push_back(std::move(ranks[static_cast<std::size_t>(rank)]).value());
      const int device = devices == 0 ? device_of(rank) : rank % devices;
      devices_.push_back(std::make_shared<const cuda::Device>(driver_, device));
      memories_.push_back(std::make_shared<cuda::DeviceMemory>(devices_.back()));
    }
  }
  Communicator& operator[](Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  /// A rank drops its communicator, and all that is attached.
  void end(Rank rank) {
    const Communicator ended = std::move(ranks_[static_cast<std::size_t>(rank)]);
  }
  [[nodiscard]] const cuda::Device& device(Rank rank) const {
    return *devices_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] const std::shared_ptr<cuda::DeviceMemory>& memory(Rank rank) const {
    return memories_[static_cast<std::size_t>(rank)];
  }
  /// Runs a function on each rank, in threads. @return what each threw, or nothing.
  template <class Body>
  std::vector<std::string> run(const Body& body) {
    return errors_of_ranks(static_cast<int>(ranks_.size()), body);
  }

 private:
  std::shared_ptr<const cuda::Driver> driver_ = std::make_shared<const cuda::Driver>();
  std::vector<Communicator> ranks_{};
  std::vector<std::shared_ptr<const cuda::Device>> devices_{};
  std::vector<std::shared_ptr<cuda::DeviceMemory>> memories_{};
};

}  // namespace tutti::harness
