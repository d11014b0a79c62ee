// A rank of a job that intruders attack, and those intruders, each a process of its own.
//
//   attacked rank RANK SIZE PORT   Its output: "listening" when all listen, "computing"; while it
//                                  computes the same ranks meet again in another world, which
//                                  shares their connections: "connected"; at its end how many calls
//                                  it made. Its input: the last rank reads a line before it comes
//                                  to a meeting, and one before it connects; rank 0 one to end.
//   attacked places PROCESS...     prints where they listen, a place in a line
//   attacked attack INPUTS SEED     does bad things at the places that it reads; prints how many
//                                  were heard there
//
// A job listens only while its ranks meet: rank 0 where they do, until all have come, then each
// rank at a port and at a Unix socket, until all have connected. The last rank
// accepts no connection, since it connects to all others. A world that stands has no listener.
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <iostream>
#include <string>
#include <vector>

#include "tests/runtime/intruders.hpp"
#include "tests/runtime/meeting.hpp"
#include "tests/runtime/world/attacked_worlds.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

void say(const char* what) {
  std::puts(what);
  std::fflush(stdout);
}

void await_line() {
  for (char letter = 0; letter != '\n';)
    if (read(STDIN_FILENO, &letter, 1) != 1) std::_Exit(3);
}

bool has_line() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, 0) > 0;
}

[[noreturn]] void give_up(const char* why) {
  say(why);
  std::_Exit(1);  // without waiting for a meeting that is still going on
}

/// Until rank 0 reads a line.
void compute(Communicator& world) {
  std::vector<std::int64_t> values(1000);
  const std::int64_t n = world.size();
  std::int64_t calls = 0;
  for (std::int64_t over = 0; over == 0; ++calls) {
    values.assign(values.size(), world.rank());
    values.back() = world.rank() == 0 && has_line() ? 1 : 0;  // so that all leave together
    if (const auto result = world.try_().all_reduce(std::span{values}); !result)
      give_up(result.error().what());
    if (values.front() != n * (n - 1) / 2) give_up("a wrong result");
    over = values.back();
    if (calls == 0) say("computing");
  }
  std::printf("%lld\n", static_cast<long long>(calls));
}

Communicator meet(Rank rank, int size, std::uint16_t port) {
  const bool is_last = rank == size - 1;
  if (is_last) await_line();
  runtime::StoreOptions options = options_at({"127.0.0.1", port}, rank, size);
  options.job = 7;
  options.secret = secret_of(1);
  LateChannel channel{open_store(options, in(600s)), [is_last] {
                        say("listening");
                        if (is_last) await_line();
                      }};
  return besieged_world(channel);
}

int be_rank(Rank rank, int size, std::uint16_t port) {
  Communicator world = meet(rank, size, port);
  auto later = std::async(std::launch::async, [=] {
    Communicator another = meet(rank, size, port);
    another.barrier();
    say("connected");
  });
  compute(world);
  later.get();
  return 0;
}

std::vector<Place> read_places() {
  std::vector<Place> places;
  Place place;
  for (std::string name; std::cin >> place.port >> name; places.push_back(place))
    place.name = place.port == 0 ? name : "";
  return places;
}

int run(const std::vector<std::string>& words) {
  const auto number = [&words](std::size_t index) { return std::atoi(words.at(index).c_str()); };
  if (words.at(0) == "rank")
    return be_rank(number(1), number(2), static_cast<std::uint16_t>(number(3)));
  if (words[0] == "attack") {
    std::printf("%d\n", attack(read_places(), number(1), static_cast<unsigned>(number(2))));
    return 0;
  }
  for (std::size_t i = 1; i < words.size(); ++i)
    for (const Place& place : listening_places(words[i]))
      std::printf("%d %s\n", place.port, place.port == 0 ? place.name.c_str() : "-");
  return 0;
}

}  // namespace
}  // namespace tutti::test

int main(int count, char** arguments) {
  try {
    return tutti::test::run({arguments + 1, arguments + count});
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 4;
  }
}
