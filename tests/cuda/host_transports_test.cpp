// Messages of GPUs over transports that differ in what they can: on the stand-in for the driver,
// around shared memory.
#include <atomic>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/batch.hpp>
#include <tutti/cuda.hpp>

#include "device_floats.hpp"
#include "host_world.hpp"
#include "runtime/config.hpp"
#include "tests/cuda/standin/hooks.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/wrapper.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kDirectBytes = 3000;

/// Takes memory of a GPU, as a CUDA-aware MPI does: what it sends it copies to the host, and what
/// it receives a network adapter writes.
class DeviceAware final : public Wrapper {
 public:
  DeviceAware(std::unique_ptr<Transport> inner, std::shared_ptr<cuda::DeviceMemory> memory,
              std::atomic<int>& count)
      : Wrapper{std::move(inner)}, memory_{std::move(memory)}, count_{count},
        capabilities_{Wrapper::capabilities()} {
    capabilities_.device_bytes = kDirectBytes;
    driver_.find("tutti_standin_receive", receive_);
    driver_.find("tutti_standin_alias", alias_);
  }
  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }
  void post(std::span<const Transfer> transfers) override {
    for (const Transfer& transfer : transfers) post_one(transfer);
  }
  using Transport::poll;
  void poll() override {
    Wrapper::poll();
    std::vector<Completion> ended;
    for (; completed() > 0; take_oldest()) ended.push_back(oldest_completed());
    for (const Completion& completion : ended) finish(completion);
  }

 private:
  struct Bounced {
    Transfer transfer;
    std::vector<std::byte> bytes;
    Piece piece{};
  };
  /// Messages in memory of the host go as they are.
  void post_one(const Transfer& transfer) {
    const Piece& piece = transfer.pieces.front();
    if (alias_(piece.data) == piece.data) return Wrapper::post({&transfer, 1});
    ASSERT_EQ(transfer.pieces.size(), 1U);
    ASSERT_GE(piece.bytes, kDirectBytes);
    ++count_;
    Bounced& bounced = bounced_[transfer.cookie];
    bounced = {transfer, std::vector<std::byte>(piece.bytes)};
    bounced.piece = {bounced.bytes.data(), piece.bytes};
    if (transfer.kind == Transfer::Kind::send)
      memory_->copy(bounced.bytes.data(), piece.data, piece.bytes);
    Transfer moved = transfer;
    moved.pieces = {&bounced.piece, 1};
    Wrapper::post({&moved, 1});
  }
  void finish(const Completion& completion) {
    if (const auto found = bounced_.find(completion.cookie); found != bounced_.end()) {
      const auto& [transfer, bytes, piece] = found->second;
      if (transfer.kind != Transfer::Kind::send)
        receive_(cuda::address_of(transfer.pieces.front().data), bytes.data(), bytes.size());
      bounced_.erase(found);
    }
    complete(completion);
  }

  std::shared_ptr<cuda::DeviceMemory> memory_;
  std::atomic<int>& count_;
  cuda::Library driver_{"libcuda.so.1"};
  decltype(&tutti_standin_receive) receive_ = nullptr;
  decltype(&tutti_standin_alias) alias_ = nullptr;
  Capabilities capabilities_;
  std::map<std::uint64_t, Bounced> bounced_{};
};

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

/// What ranks need that stand on such a group.
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
    runtime::WorldOptions options{.transports = runtime::ways_of("shm"),
                                  .segment_bytes = std::size_t{1} << 30U};
    options.mesh.interface = "127.0.0.1";
    CommunicatorParts communicator_parts =
        runtime::World::connect(*channels[static_cast<std::size_t>(rank)], options,
                                test::in(test::kAmple))
            ->communicator_parts();
    const auto device = std::make_shared<const cuda::Device>(driver, rank);
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

TEST(HostTransports, TakeMemoryOfGpusAsItIsWhereTheyCan) {
  if (const std::string why = lack_of(3); !why.empty()) GTEST_SKIP() << why;
  std::atomic<int> count = 0;
  const auto environment = runtime::process_environment();
  const auto rdma = environment.find("CUDA_STANDIN_RDMA");
  const bool takes_it = rdma == environment.end() || rdma->second != "unordered";
  const auto wrap_for = [&](const Own& own) {
    return [&count, memory = own.memory](std::unique_ptr<Transport> inner) {
      return std::make_unique<DeviceAware>(std::move(inner), memory, count);
    };
  };
  test::expect_no_error(on_wrapped(3, wrap_for, [&](Own& own) {
    const Rank rank = own.world.rank();
    cuda::attach(own.world, {.device = rank, .transport = "host"});
    const OwnStream stream{*own.device};
    // Below, at and above what the transport takes; and some of each between two ranks at once.
    for (const std::size_t elements : {1U, 749U, 750U, 751U, 300'000U}) {
      DeviceFloats data{own.memory, elements};
      data.store(std::vector<float>(elements, static_cast<float>(rank + 1)));
      own.world.all_reduce(data.span(), sum, {.algorithm = "direct", .stream = stream.get()});
      cuda::wait(own.world, stream.get(), test::kAmple);
      EXPECT_EQ(data.load(), std::vector<float>(elements, 6.0F)) << elements;
    }
    const int before = count;
    const std::vector<std::size_t> counts{10, 5000, 20, 750, 749, 6000, 1};
    std::deque<DeviceFloats> data;
    for (const std::size_t each : counts) {
      data.emplace_back(own.memory, each);
      if (rank == 0) data.back().store(numbers_of(static_cast<Rank>(each), each));
    }
    batch([&] {
      for (DeviceFloats& each : data) {
        if (rank == 0)
          own.world.send(std::span<const float>{each.span()}, 1, 0, {.stream = stream.get()});
        if (rank == 1) own.world.recv(each.span(), 0, 0, {.stream = stream.get()});
      }
    });
    cuda::wait(own.world, stream.get(), test::kAmple);
    if (rank == 1) {
      for (std::size_t i = 0; i < counts.size(); ++i)
        EXPECT_EQ(data[i].load(), numbers_of(static_cast<Rank>(counts[i]), counts[i])) << i;
      if (takes_it) EXPECT_GT(count, before);
      else EXPECT_EQ(count, 0);
    }
  }));
}

TEST(HostTransports, AreCalledByAThreadOfOurs) {
  if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
  const auto wrap_for = [](const Own&) {
    return [](std::unique_ptr<Transport> inner) {
      return std::make_unique<OneThreaded>(std::move(inner));
    };
  };
  for (const test::Outcome& outcome : on_wrapped(2, wrap_for, [](Own& own) {
         cuda::attach(own.world, {.device = own.world.rank(), .transport = "host"});
       }))
    EXPECT_EQ(outcome.text(),
              "rank 0 cannot move memory of its GPU over the host: a thread of tutti's own would "
              "call the transport 'mpi', which does not allow it: an MPI needs "
              "MPI_THREAD_MULTIPLE; start it by MPI_Init_thread");
}

}  // namespace
}  // namespace tutti::harness
