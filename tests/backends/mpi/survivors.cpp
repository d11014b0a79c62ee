// A job with a fault of one rank, named by the first argument:
//   loop   all_reduce again and again, until an error ends it; survivors.py ends or stops a rank
//   mixed  collectives of several kinds and sizes instead; kills.py ends a rank
//   hybrid as loop, over memory and MPI, on two pretended hosts
//   setup  the last rank takes no part in making the communicator
//   init   as setup, in tutti::mpi::init
// Ranks print who they are, and the Error they got. They end without MPI_Finalize, which would wait
// for the dead.
//
// A rank that gets SIGUSR2 kills itself, and one that gets SIGTSTP stops itself, in the next call
// of its operator or between two collectives: amid a collective, but never inside the MPI. A
// process that is killed between two stores into the MPI's shared memory can leave the others in an
// endless loop of the MPI. Lost nodes, which these jobs pretend, share no memory with those that
// are left.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/patience.hpp"
#include "two_hosts.hpp"

namespace {

constexpr int kFoundAnError = 7;
/// The launcher ends the job when the other ranks have failed.
constexpr std::chrono::seconds kAbsence{60};

[[noreturn]] void end_with(int rank, const tutti::Error& error) {
  std::printf("rank %d: %s, culprit %d: %s\n", rank, tutti::name_of(error.code()).data(),
              error.culprit(), error.what());
  std::fflush(stdout);
  // Others still print: a launcher ends the whole job when the first rank leaves with a failure.
  std::this_thread::sleep_for(std::chrono::seconds{2});
  _exit(kFoundAnError);
}

volatile sig_atomic_t fate = 0;

void remember_fate(int number) {
  fate = number == SIGUSR2 ? SIGKILL : SIGSTOP;
}

void meet_fate() {
  if (fate != 0) kill(getpid(), fate);
}

// As tutti::max.
tutti::Operator largest() {
  const auto function = [](const void* left, const void* right, void* out, std::size_t count) {
    meet_fate();
    std::ranges::transform(std::span{static_cast<const float*>(left), count},
                           std::span{static_cast<const float*>(right), count},
                           static_cast<float*>(out), std::ranges::max);
  };
  return {function, true};
}

tutti::Communicator make_world() {
  return tutti::mpi::communicator(MPI_COMM_WORLD, {.timeout = std::chrono::seconds{2}},
                                  {.timeout = tutti::test::kAmple});
}

void loop(int rank, tutti::Communicator world) {
  std::vector<float> data(1000, 1.0F);
  world.all_reduce(std::span{data});
  std::printf("rank %d has process %d\n", rank, static_cast<int>(getpid()));
  std::fflush(stdout);
  for (const tutti::Operator operation = largest();; meet_fate())
    world.all_reduce(std::span{data}, operation);
}

// Chains of ranks that wait for each other, and messages of all lengths.
void mix(int rank, tutti::Communicator world) {
  std::vector<float> data(300'000, 1.0F);
  std::vector<float> result(data.size());
  world.barrier();
  std::printf("rank %d has process %d\n", rank, static_cast<int>(getpid()));
  std::fflush(stdout);
  const tutti::Operator operation = largest();
  for (unsigned turn = 0;; ++turn) {
    const std::size_t counts[] = {2, 5000, data.size()};
    const std::span some{data.data(), counts[turn % 3]};
    const auto root = static_cast<int>(turn % static_cast<unsigned>(world.size()));
    world.all_reduce(some, std::span{result}.first(some.size()), operation);
    meet_fate();
    world.broadcast(some, root);
    meet_fate();
    world.barrier();
    world.reduce(some, std::span{result}.first(some.size()), operation, root);
  }
}

void set_up(int rank, int size) {
  if (rank == size - 1) std::this_thread::sleep_for(kAbsence);
  else
    static_cast<void>(
        tutti::mpi::make_transport(MPI_COMM_WORLD, {.timeout = std::chrono::seconds{1}}));
}

// The deadline is that of the options, which is less than the usual one.
void init(int rank, int size) {
  if (rank == size - 1) return std::this_thread::sleep_for(kAbsence);
  const auto start = std::chrono::steady_clock::now();
  try {
    static_cast<void>(tutti::mpi::init(MPI_COMM_WORLD, {.timeout = std::chrono::seconds{1}}));
  } catch (const tutti::Error& error) {
    const auto took = std::chrono::steady_clock::now() - start;
    if (took >= std::chrono::seconds{1} && took < kAbsence / 2) throw;
    throw tutti::Error{tutti::ErrorCode::bug,
                       "not when it should be: " + std::string{error.what()}};
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  signal(SIGUSR2, remember_fate);
  signal(SIGTSTP, remember_fate);
  MPI_Init(&argument_count, &arguments);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  try {
    const std::string_view mode = argument_count == 2 ? arguments[1] : "loop";
    if (mode == "setup") set_up(rank, size);
    else if (mode == "init") init(rank, size);
    else if (mode == "mixed") mix(rank, make_world());
    else if (mode == "hybrid") loop(rank, tutti::test::world_on_two_hosts(tutti::test::kAmple));
    else loop(rank, make_world());
  } catch (const tutti::Error& error) {
    end_with(rank, error);
  }
  _exit(0);
}
