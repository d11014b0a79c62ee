// A program without MPI under a launcher of MPI: launched MODE. Its exit status is 0 if all is
// well.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "runtime/launch/open_channel.hpp"
#include "tests/runtime/launch/launched.hpp"
#include "tests/support/patience.hpp"

namespace tutti::runtime {
namespace {

using namespace std::chrono_literals;

Deadline in(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

std::unique_ptr<Channel> open(const Launch& launch) {
  Protection none;
  return open_channel(launch, none, in(test::kAmple));
}

std::string text_of(Rank rank, int session, int round) {
  if (round == 1) return "";
  if (round == 2) return std::string(64U << 10U, static_cast<char>(rank));
  return std::string("\0\n \xff=", 5) + std::to_string(rank) + "." + std::to_string(session);
}

// Whether every rank gets the text of every rank, in all these sessions.
bool exchange(const Launch& launch, int sessions, int rounds) {
  for (int session = 0; session < sessions; ++session) {
    const auto channel = open(launch);
    if (channel->rank() != launch.rank || channel->size() != launch.size) return false;
    for (int round = 0; round < rounds; ++round) {
      const auto heard =
          channel->all_gather(text_of(channel->rank(), session, round), in(test::kAmple));
      if (heard.size() != static_cast<std::size_t>(launch.size)) return false;
      for (Rank rank = 0; rank < launch.size; ++rank)
        if (const std::string& text = heard[static_cast<std::size_t>(rank)];
            text != text_of(rank, session, round)) {
          std::printf("session %d, round %d: rank %d heard %zu bytes of rank %d: %.40s\n", session,
                      round, launch.rank, text.size(), rank, text.c_str());
          return false;
        }
    }
  }
  return true;
}

// Whether the others notice within their deadline that the last rank does not come, and name it and
// its host if the launcher has it.
bool notice_absence(const Launch& launch) {
  if (launch.rank == launch.size - 1) {
    sleep(3);
    static_cast<void>(open(launch));  // a launcher takes an end without a word for a crash
    return true;
  }
  const auto channel = open(launch);
  const auto begin = std::chrono::steady_clock::now();
  try {
    static_cast<void>(channel->all_gather("x", in(300ms)));
  } catch (const Error& error) {
    const auto took = std::chrono::steady_clock::now() - begin;
    std::printf("%s\n", error.what());
    sleep(3);  // an early end would be noticed by the launcher
    const bool tells = launch.exchange != Exchange::pmi;
    const std::string missing = tells ? " for rank " + std::to_string(launch.size - 1) + " (host "
                                      : "reveals nothing before all have entered";
    // The last one comes after 3 s.
    return error.code() == ErrorCode::timeout && took < 2500ms &&
           error.culprit() == (tells ? launch.size - 1 : -1) &&
           std::string{error.what()}.find(missing) != std::string::npos;
  }
  return false;
}

int run(const std::string& mode) {
  const Launch launch = detect_launch(process_environment());
  if (launch.size == 1) return launch.rank == 0 ? 0 : 1;
  if (mode == "exchange") return exchange(launch, 3, 4) ? 0 : 1;
  // PMIx keeps all that was ever said, and passes all of it on again.
  const int sessions = launch.exchange == Exchange::pmi ? 1000 : 300;
  if (mode == "sessions") return exchange(launch, sessions, 1) ? 0 : 1;
  if (mode == "between") {  // before, beside and, as far as it may, within the life of an MPI
    bool is_good = exchange(launch, 2, 4);
    begin_mpi();
    is_good = is_good && exchange(launch, 2, 4);
    end_mpi();
    return is_good ? 0 : 1;
  }
  if (mode == "absent") return notice_absence(launch) ? 0 : 1;
  return 3;
}

}  // namespace
}  // namespace tutti::runtime

int main(int count, char** arguments) {
  try {
    return tutti::runtime::run(count > 1 ? arguments[1] : "exchange");
  } catch (const tutti::Error& error) {
    std::printf("%s\n", error.what());
    return 4;
  }
}
