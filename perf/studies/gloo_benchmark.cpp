// Compares all_reduce of f32 over TCP with Gloo's, in one run. Usage: gloo_benchmark [FIRST
// [LAST]], as ranks.
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <tutti/tutti.hpp>

#include "perf/measured_world.hpp"
#include "perf/studies/side_by_side.hpp"
#include "runtime/sockets/address.hpp"

namespace tutti::perf {
namespace {

// Gloo's ranks exchange their addresses over tutti: all ranks set a value, then all read all
// values.
class Store final : public gloo::rendezvous::Store {
 public:
  explicit Store(Communicator& world) : world_{world} {}
  void set(const std::string& key, const std::vector<char>& data) override {
    const auto keys = gather({key.begin(), key.end()});
    auto values = gather(data);
    for (std::size_t rank = 0; rank < keys.size(); ++rank)
      said_[{keys[rank].begin(), keys[rank].end()}] = std::move(values[rank]);
  }
  std::vector<char> get(const std::string& key) override { return said_.at(key); }
  void wait(const std::vector<std::string>&) override {}
  void wait(const std::vector<std::string>&, const std::chrono::milliseconds&) override {}

 private:
  std::vector<std::vector<char>> gather(const std::vector<char>& own) {
    std::vector<std::uint64_t> lengths(static_cast<std::size_t>(world_.size()));
    const std::vector<std::uint64_t> length{own.size()};
    world_.all_gather(length, std::span{lengths});
    std::vector<std::vector<char>> all;
    for (Rank rank = 0; rank < world_.size(); ++rank) {
      all.push_back(own);
      all.back().resize(lengths[static_cast<std::size_t>(rank)]);
      world_.broadcast(std::span{all.back()}, rank);
    }
    return all;
  }

  Communicator& world_;
  std::map<std::string, std::vector<char>> said_{};
};

std::shared_ptr<gloo::rendezvous::Context> connect_gloo(Communicator& world) {
  gloo::transport::tcp::attr where;
  where.hostname = "127.0.0.1";
  for (const std::string& name : gather_texts(world, host_name()))
    if (name != host_name())
      where.hostname =
          runtime::parse_host_and_port(runtime::text_of(runtime::outward_address())).host;
  auto device = gloo::transport::tcp::CreateDevice(where);
  auto context = std::make_shared<gloo::rendezvous::Context>(world.rank(), world.size());
  Store store{world};
  context->connectFullMesh(store, device);
  return context;
}

void measure(std::span<char* const> arguments) {
  Communicator world = init({.transport = "tcp"});
  const auto context = connect_gloo(world);
  for (const std::size_t bytes : sizes_of(arguments)) {
    std::vector<float> in(bytes / sizeof(float), 1);
    std::vector<float> out(in.size());
    gloo::AllreduceOptions options{context};
    options.setInput(in.data(), in.size());
    options.setOutput(out.data(), out.size());
    options.setReduceFunction([](void* to, const void* a, const void* b, std::size_t n) {
      gloo::sum<float>(to, a, b, n);
    });
    const std::vector<Contender> contenders{
        {"gloo", [&] { gloo::allreduce(options); }},
        {"auto", [&] { world.all_reduce(std::span<const float>{in}, std::span{out}); }}};
    const auto medians = medians_side_by_side(world, contenders, std::chrono::seconds{2});
    print_side_by_side(world, bytes, contenders, medians);
  }
}

}  // namespace
}  // namespace tutti::perf

int main(int count, char** arguments) {
  try {
    tutti::perf::measure({arguments, static_cast<std::size_t>(count)});
    return 0;
  } catch (const std::exception& error) {  // also those of Gloo
    std::puts(error.what());
    return 4;
  }
}
