// A rank of a world: member MODE [NUMBER [TRANSPORT]]. Its exit status is 0 if all is well. In some
// modes, "tls-" before it encrypts.
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <tutti/gradient_sync.hpp>
#include <tutti/tutti.hpp>

#include "runtime/launch/config.hpp"
#include "tests/support/german_numbers.hpp"
#include "tests/support/patience.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::int64_t nanoseconds() {
  return Clock::now().time_since_epoch().count();
}

// Whether an all_reduce is right.
bool adds_up(Communicator& world, std::size_t count) {
  const std::int64_t n = world.size();
  std::vector<std::int64_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = world.rank() + static_cast<std::int64_t>(i);
  world.all_reduce(std::span{values});
  for (std::size_t i = 0; i < count; ++i)
    if (values[i] != n * (n - 1) / 2 + n * static_cast<std::int64_t>(i)) return false;
  return true;
}

// Sums vectors of several sizes.
bool adds_up(Communicator& world) {
  return adds_up(world, 1) && adds_up(world, 1000) && adds_up(world, 300'000);
}

// A world, halves of it, and halves of those.
bool divides(Communicator& world) {
  if (!adds_up(world)) return false;
  if (world.size() < 2) return true;
  Communicator half = world.split(world.rank() % 2);
  return divides(half);
}

struct Usage {
  std::ptrdiff_t descriptors = 0;
  std::ptrdiff_t threads = 0;
  long resident_kib = 0;
};

Usage usage() {
  const auto entries = [](const char* folder) {
    return std::distance(std::filesystem::directory_iterator{folder}, {});
  };
  long pages = 0;
  std::ifstream{"/proc/self/statm"} >> pages >> pages;
  return {entries("/proc/self/fd"), entries("/proc/self/task"),
          pages * sysconf(_SC_PAGESIZE) / 1024};
}

// Whether worlds can come and go without anything being left behind.
bool repeats(int times, const std::string& transport) {
  Usage first;
  for (int i = 0; i < times; ++i) {
    if (i == times / 5) first = usage();  // allocators and loaders have had their share by then
    Communicator world = init({.transport = transport});
    std::array<std::int64_t, 1> value{1};
    world.all_reduce(std::span{value});
    if (value[0] != world.size()) return false;
  }
  const Usage last = usage();
  std::printf("descriptors %td %td threads %td %td resident %ld %ld KiB\n", first.descriptors,
              last.descriptors, first.threads, last.threads, first.resident_kib, last.resident_kib);
  return last.descriptors <= first.descriptors && last.threads <= first.threads &&
         last.resident_kib < first.resident_kib + 2048;
}

// The bytes that went over the loopback of this host.
std::int64_t loopback_bytes() {
  std::ifstream devices{"/proc/net/dev"};
  std::int64_t bytes = -1;
  for (std::string word; devices >> word;)
    if (word == "lo:") devices >> bytes;
  return bytes;
}

// Whether collectives are right. Each rank says what went over the loopback meanwhile: before,
// ranks meet there, and afterwards a launcher may look for those that it has to tell of ends.
bool is_a_world(const InitOptions& options) {
  Communicator world = init(options);
  if (world.rank() == 0) std::printf("%s\n", world.describe().c_str());
  world.barrier();
  const std::int64_t before = loopback_bytes();
  const bool is_good = divides(world);
  std::printf("%lld bytes over the loopback\n", static_cast<long long>(loopback_bytes() - before));
  world.barrier();
  return is_good;
}

// Whether one rank may have a locale of its own.
bool is_of_two_locales(Rank german) {
  const runtime::Environment environment = runtime::process_environment();
  std::optional<GermanNumbers> numbers;
  if (runtime::value_of(environment, "TUTTI_RANK") == std::to_string(german)) numbers.emplace();
  Communicator world = init();
  std::vector<float> gradients(1'234'567, 1.5F);
  const std::vector parameters{Parameter::of("all", gradients)};
  GradientSync sync{
      world, parameters, {.max_norm = 2345.5, .resync_every = 4000, .state = parameters}};
  sync.ready(0);
  sync.wait();
  return adds_up(world);
}

// The last rank dies amid collectives; the others print the time and the rank they blame.
bool survives(int signal, const InitOptions& options) {
  Communicator world = init(options);
  const Rank victim = world.size() - 1;
  std::array<std::int64_t, 1> moment{world.rank() == victim ? nanoseconds() + 20'000'000 : 0};
  world.all_reduce(std::span{moment}, max);
  std::vector<double> values(20'000);
  try {
    for (;;) {
      world.all_reduce(std::span{values}, sum,
                       {.timeout = test::kAmple});  // so all have the moment
      if (world.rank() == victim && nanoseconds() >= moment[0]) ::kill(getpid(), signal);
    }
  } catch (const Error& error) {
    std::printf("rank %d knew after %.1f ms: %s, culprit %d: %s\n", world.rank(),
                static_cast<double>(nanoseconds() - moment[0]) * 1e-6,
                std::string{name_of(error.cause())}.c_str(), error.culprit(), error.what());
    std::fflush(stdout);
    return error.culprit() == victim;
  }
}

// One of many unequal calls, the same on all ranks: a few elements, many, very many, or a few after
// a rest of the rank's own.
void call_once(Communicator& world, std::minstd_rand& shared, std::minstd_rand& own,
               std::vector<double>& values) {
  std::size_t count = 1 + shared() % 100;
  switch (shared() % 4) {
    case 0: break;
    case 1: count = 20'000; break;
    case 2: count = values.size(); break;
    default: std::this_thread::sleep_for(std::chrono::microseconds{own() % 5000});
  }
  world.all_reduce(std::span{values}.first(count), sum, {.timeout = test::kAmple});
}

// Collectives until something fails. Says when it knew, by a clock that all processes of a machine
// share.
bool endures(unsigned seed) {
  Communicator world = init({.heartbeat_timeout = 1s});
  std::minstd_rand shared{seed};
  std::minstd_rand own{100 * seed + static_cast<unsigned>(world.rank()) + 1};
  std::vector<double> values(131'072);
  world.barrier();
  std::puts("ready");
  std::fflush(stdout);
  try {
    for (;;) call_once(world, shared, own, values);
  } catch (const Error& error) {
    std::printf("%lld %s %d %s\n", static_cast<long long>(nanoseconds()),
                std::string{name_of(error.code())}.c_str(), error.culprit(), error.what());
    return true;
  }
}

// Rank 0 makes one call more than the others, which leave.
bool is_left_alone() {
  Communicator world = init();
  world.barrier();
  if (world.rank() != 0) return true;
  try {
    world.barrier({.timeout = test::kAmple});
    return false;
  } catch (const Error& error) {
    std::printf("%s: %s\n", std::string{name_of(error.cause())}.c_str(), error.what());
    return true;
  }
}

// Every rank makes two calls, and the last one a third after it was waited for too long.
bool is_late() {
  Communicator world = init();
  for (int i = 0; i < 2; ++i) world.barrier();
  if (world.rank() == world.size() - 1) {
    std::puts("ready");
    std::fflush(stdout);
    std::this_thread::sleep_for(3s);
    return true;
  }
  try {
    world.barrier({.timeout = 1s});
    return false;
  } catch (const Error& error) {
    std::printf("%s: %s\n", std::string{name_of(error.cause())}.c_str(), error.what());
    return error.cause() == ErrorCode::timeout;
  }
}

// The odd behaviour of one rank of a world.
void stand_out(Communicator& world, const std::string& mode) {
  std::vector<double> values(1000);
  if (mode == "absent") {
    std::this_thread::sleep_for(1500ms);
  } else if (mode == "different") {
    world.broadcast(std::span{values}, world.rank(), {.timeout = test::kAmple});
    world.barrier({.timeout = test::kAmple});
  } else {
    for (;;) static_cast<void>(world.async().all_reduce(std::span{values}));  // one had not ended
  }
  world.barrier({.timeout = test::kAmple});
}

// Prints its error, in a line.
bool disagrees(const std::string& mode, Rank odd, const std::string& transport) {
  Communicator world = init({.transport = transport});
  std::vector<double> values(1000);
  try {
    for (int i = 0; i < 2; ++i) world.all_reduce(std::span{values});
    if (world.rank() == odd) stand_out(world, mode);
    const bool is_impatient = mode == "absent" && world.rank() == (odd + 1) % world.size();
    const Duration patience = is_impatient ? Duration{500ms} : test::kAmple;
    for (;;) world.all_reduce(std::span{values}, sum, {.timeout = patience});
  } catch (const Error& error) {
    std::printf("%s %d %s\n", std::string{name_of(error.code())}.c_str(), error.culprit(),
                error.what());
    return true;
  }
  return false;
}

int run(std::string mode, int number, const std::string& transport) {
  InitOptions options;
  options.tls = mode.starts_with("tls-");
  if (options.tls) mode.erase(0, 4);
  if (mode == "locale") return is_of_two_locales(number) ? 0 : 1;
  if (mode == "collectives") return is_a_world(options) ? 0 : 1;
  if (mode == "sum") {  // of so many MiB
    Communicator world = init({.transport = transport});
    return adds_up(world, (static_cast<std::size_t>(number) << 20) / sizeof(std::int64_t)) ? 0 : 1;
  }
  if (mode == "explain") {
    Communicator world = init();
    std::vector<float> values(1000);
    std::puts(world.explain(call::all_reduce(values, std::span{values}, sum)).c_str());
    return adds_up(world) ? 0 : 1;
  }
  if (mode == "repeat") return repeats(number, transport) ? 0 : 1;
  if (mode == "survive") return survives(number, options) ? 0 : 1;
  if (mode == "late") return is_late() ? 0 : 1;
  if (mode == "endure") return endures(static_cast<unsigned>(number)) ? 0 : 1;
  if (mode == "absent" || mode == "different" || mode == "drop")
    return disagrees(mode, number, transport) ? 0 : 1;
  if (mode == "alone") return is_left_alone() ? 0 : 1;
  if (mode == "sleep") {
    Communicator world = init();
    world.barrier();
    std::puts("ready");
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::seconds{number});
    world.barrier();
    return 0;
  }
  return 3;
}

}  // namespace
}  // namespace tutti::test

int main(int count, char** arguments) {
  try {
    return tutti::test::run(count > 1 ? arguments[1] : "collectives",
                            count > 2 ? std::atoi(arguments[2]) : 0,
                            count > 3 ? arguments[3] : "auto");
  } catch (const tutti::Error& error) {
    std::printf("%s: %s\n", std::string{name_of(error.code())}.c_str(), error.what());
    return 4;
  }
}
