// A rank of a job that strangers beset, and those strangers, each a process of its own.
//
//   besieged rank RANK SIZE PORT   Its output: "listening" when all listen, "computing", and at its
//                                  end how many calls it made. Its input: the last rank reads a
//                                  line before it comes, and one before it connects; rank 0 one to
//                                  end.
//   besieged places PROCESS...     prints where they listen, a place in a line
//   besieged beset INPUTS SEED     does bad things at the places that it reads; prints how many
//   besieged knock INPUTS          calls at the places that it reads; nobody may listen
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "meeting.hpp"
#include "siege.hpp"
#include "strangers.hpp"

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

/// @return whether all results were right.
bool compute(Communicator& world) {
  std::vector<std::int64_t> values(1000);
  const std::int64_t n = world.size();
  std::int64_t calls = 0;
  for (std::int64_t over = 0; over == 0; ++calls) {
    values.assign(values.size(), world.rank());
    values.back() = world.rank() == 0 && has_line() ? 1 : 0;  // so that all leave together
    world.all_reduce(std::span{values});
    if (values.front() != n * (n - 1) / 2) return false;
    over = values.back();
    if (calls == 0) say("computing");
  }
  std::printf("%lld\n", static_cast<long long>(calls));
  return true;
}

int be_rank(Rank rank, int size, std::uint16_t port) {
  const bool is_last = rank == size - 1;
  if (is_last) await_line();
  runtime::StoreOptions options = options_at({"127.0.0.1", port}, rank, size);
  options.job = 7;
  options.secret = secret_of(1);
  LateChannel channel{open_store(options, in(600s)), [is_last] {
                        say("listening");
                        if (is_last) await_line();
                      }};
  Communicator world = besieged_world(channel);
  return compute(world) ? 0 : 1;
}

std::vector<Place> read_places() {
  std::vector<Place> places;
  Place place;
  for (std::string name; std::cin >> place.port >> name; places.push_back(place))
    place.name = place.port == 0 ? name : "";
  return places;
}

int knock(int inputs) {
  const std::vector<Place> places = read_places();
  for (int i = 0; i < inputs; ++i)
    if (call(places[static_cast<std::size_t>(i) % places.size()])) return 1;
  std::printf("%d\n", inputs);
  return 0;
}

int run(const std::vector<std::string>& words) {
  const auto number = [&words](std::size_t index) { return std::atoi(words.at(index).c_str()); };
  if (words.at(0) == "rank")
    return be_rank(number(1), number(2), static_cast<std::uint16_t>(number(3)));
  if (words[0] == "knock") return knock(number(1));
  if (words[0] == "beset") {
    std::printf("%d\n", beset(read_places(), number(1), static_cast<unsigned>(number(2))));
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
