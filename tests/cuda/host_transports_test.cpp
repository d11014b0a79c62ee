// Messages of GPUs over transports that differ in what they can: on the stand-in for the driver,
// around shared memory.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/cuda.hpp>

#include "host_world.hpp"
#include "runtime/launch/config.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/wrapper.hpp"

namespace tutti::harness {
namespace {

/// May be called by one thread only.
class OneThreaded final : public Wrapper {
 public:
  explicit OneThreaded(std::unique_ptr<Transport> inner)
      : Wrapper{std::move(inner)}, capabilities_{Wrapper::capabilities()} {
    capabilities_.threads = false;
    capabilities_.name = "mpi";
  }
  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }

 private:
  Capabilities capabilities_;
};

using Wrap = std::function<std::unique_ptr<Transport>(std::unique_ptr<Transport>)>;

/// Puts something around the transports of a group's parts.
class WrappingGroup final : public Group {
 public:
  WrappingGroup(std::shared_ptr<Group> inner, Wrap wrap)
      : inner_{std::move(inner)}, wrap_{std::move(wrap)} {}
  [[nodiscard]] CommunicatorParts subgroup(std::span<const Rank> members,
                                           std::uint64_t key) override {
    CommunicatorParts communicator_parts = inner_->subgroup(members, key);
    communicator_parts.transport = wrap_(std::move(communicator_parts.transport));
    communicator_parts.group =
        std::make_shared<WrappingGroup>(std::move(communicator_parts.group), wrap_);
    return communicator_parts;
  }
  [[nodiscard]] std::shared_ptr<Memory> visible_memory() noexcept override {
    return inner_->visible_memory();
  }
  [[nodiscard]] std::string describe() const override { return inner_->describe(); }

 private:
  std::shared_ptr<Group> inner_;
  Wrap wrap_;
};

/// The objects of each rank of such a group.
struct Own {
  Communicator& world;
  std::shared_ptr<const cuda::Device> device;
  std::shared_ptr<cuda::DeviceMemory> memory;
};

/// Runs a body on each rank. @param wrap_for gives what to put around the transports of a rank.
std::vector<test::Outcome> on_wrapped(int size, const std::function<Wrap(const Own&)>& wrap_for,
                                      const std::function<void(Own&)>& body) {
  const auto driver = std::make_shared<const cuda::Driver>();
  const auto channels = test::local_channels(size, true);
  return test::run_ranks(size, [&](Rank rank) {
    runtime::WorldOptions options{.transports = runtime::transports_of("shm"),
                                  .links = {.segment_bytes = std::size_t{1} << 30U}};
    options.mesh.interface = "127.0.0.1";
    CommunicatorParts communicator_parts =
        runtime::World::connect(*channels[static_cast<std::size_t>(rank)], options,
                                test::in(test::kAmple))
            ->communicator_parts();
    const auto device = std::make_shared<const cuda::Device>(driver, device_of(rank));
    const auto memory = std::make_shared<cuda::DeviceMemory>(device);
    std::optional<Communicator> world;
    Wrap wrap;
    communicator_parts.group = std::make_shared<WrappingGroup>(
        std::move(communicator_parts.group),
        [&wrap](std::unique_ptr<Transport> inner) { return wrap(std::move(inner)); });
    world.emplace(make_communicator(std::move(communicator_parts), make_host_memory(),
                                    {.timeout = test::kAmple}));
    Own own{*world, device, memory};
    wrap = wrap_for(own);
    body(own);
  });
}

TEST(HostTransports, AreCalledByAThreadOfOurs) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  const auto wrap_for = [](const Own&) {
    return [](std::unique_ptr<Transport> inner) {
      return std::make_unique<OneThreaded>(std::move(inner));
    };
  };
  for (const test::Outcome& outcome : on_wrapped(2, wrap_for, [](Own& own) {
         cuda::attach(own.world, {.device = own.device->ordinal(), .transport = "host"});
       }))
    EXPECT_EQ(outcome.text(),
              "rank 0 cannot move memory of its GPU over the host: a thread of tutti's own would "
              "call the transport 'mpi', which does not allow it: an MPI needs "
              "MPI_THREAD_MULTIPLE; start it by MPI_Init_thread");
}

}  // namespace
}  // namespace tutti::harness
