// The speed of the wire: plain TCP streams to the next rank and from the previous one, with the
// bytes of a ring all_reduce, compared with that all_reduce. Usage: ring_streams [FIRST [LAST]], as
// ranks.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include <tutti/tutti.hpp>

#include "perf/measured_world.hpp"
#include "perf/studies/side_by_side.hpp"
#include "runtime/sockets/socket.hpp"

namespace tutti::perf {
namespace {

constexpr std::size_t kAtOnce = std::size_t{256} << 10;

// Streams without frames, matching and sums: only the wire limits them.
class Streams {
 public:
  explicit Streams(Communicator& world) : bytes_(kAtOnce) {
    const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    runtime::Endpoint here = runtime::loopback();
    if (!std::ranges::all_of(gather_texts(world, host_name()),
                             [](const std::string& name) { return name == host_name(); }))
      here = runtime::outward_address();
    const runtime::Descriptor listener = runtime::listen_on(here);
    const auto places =
        gather_texts(world, runtime::text_of(runtime::bound_endpoint(listener.get())));
    const auto next = static_cast<std::size_t>((world.rank() + 1) % world.size());
    const auto address = runtime::resolve(runtime::parse_host_and_port(places[next]), deadline);
    to_ = runtime::connect_to(address.front(), deadline);
    (void)runtime::wait_for(listener.get(), POLLIN, deadline);
    from_ = runtime::Descriptor{accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (!from_) throw runtime::system_error("no stream came", errno);
  }

  void move(std::size_t bytes) {
    std::size_t out = bytes;
    std::size_t in = bytes;
    while (out > 0 || in > 0) {
      const ssize_t sent =
          out == 0 ? 0 : send(to_.get(), bytes_.data(), std::min(out, kAtOnce), kFlags);
      const ssize_t got =
          in == 0 ? 0 : recv(from_.get(), bytes_.data(), std::min(in, kAtOnce), kFlags);
      if (sent > 0) out -= static_cast<std::size_t>(sent);
      if (got > 0) in -= static_cast<std::size_t>(got);
      if (sent > 0 || got > 0) continue;
      std::array<pollfd, 2> both{pollfd{out > 0 ? to_.get() : -1, POLLOUT, 0},
                                 pollfd{in > 0 ? from_.get() : -1, POLLIN, 0}};
      (void)poll(both.data(), both.size(), 1000);
    }
  }

 private:
  static constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
  std::vector<std::byte> bytes_;
  runtime::Descriptor to_{};
  runtime::Descriptor from_{};
};

void measure(std::span<char* const> arguments) {
  Communicator world = init({.transport = "tcp"});
  Streams streams{world};
  const auto n = static_cast<std::size_t>(world.size());
  for (const std::size_t bytes : sizes_of(arguments)) {
    const std::vector<float> in(bytes / sizeof(float), 1);
    std::vector<float> out(in.size());
    const auto all_reduce = [&](const std::string& algorithm) {
      return
          [&, algorithm] { world.all_reduce(in, std::span{out}, sum, {.algorithm = algorithm}); };
    };
    const std::vector<Contender> contenders{
        {"streams", [&] { streams.move(2 * (n - 1) * bytes / n); }},
        {"auto", all_reduce("")},
        {"ring", all_reduce("ring")}};
    const auto medians = medians_side_by_side(world, contenders, std::chrono::seconds{8});
    print_side_by_side(world, bytes, contenders, medians);
  }
}

}  // namespace
}  // namespace tutti::perf

int main(int count, char** arguments) {
  try {
    tutti::perf::measure({arguments, static_cast<std::size_t>(count)});
    return 0;
  } catch (const tutti::Error& error) {
    std::puts(error.what());
    return 4;
  }
}
