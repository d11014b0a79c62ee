/// @file
/// Common parts of an MPI program that knows nothing of tutti.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <random>
#include <vector>

namespace program {

using Numbers = std::vector<long>;

inline std::mt19937 dice;  // equal on all ranks
inline int wrong = 0;

inline int below(int most) {
  return static_cast<int>(dice() % static_cast<unsigned>(most));
}

struct World {
  MPI_Comm comm;
  int rank = 0;
  int size = 1;
  explicit World(MPI_Comm of) : comm{of} {
    MPI_Comm_rank(of, &rank);
    MPI_Comm_size(of, &size);
  }
};

// Element i of what a rank has, in this call.
inline long value(long call, int rank, std::size_t i) {
  return (call * 31 + rank * 7 + static_cast<long>(i) * 3) % 11 + 1;
}

/// Ends a call that was started: waits for it in one of several ways, among other requests and
/// after a message.
void finish(const World& world, MPI_Request request);

/// Frees a communicator while a call on it is pending.
void free_before_the_end(const World& world);

/// Prepares collectives, and starts them several times, if the MPI can.
void start_prepared(const World& world);

/// Runs a collective, or starts it and waits for it. @param starts equal on all ranks. @param
/// arguments without the request.
template <class Blocking, class Starting, class... A>
void run(const World& world, bool starts, Blocking blocking, Starting starting, A... arguments) {
  if (!starts) {
    blocking(arguments...);
    return;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  starting(arguments..., &request);
  finish(world, request);
}

/// A datatype as the program writes it: how many longs an element has, and its longs' places.
struct Layout {
  MPI_Datatype type;
  int longs;                // data of an element
  int stride;               // longs from one element to the next
  std::vector<int> places;  // of its data
};
std::vector<Layout> layouts();

/// Sends data of types that live for one call each, whose handles are those of freed ones.
void renew_types(const World& world);

/// Runs a random collective that moves data. @param call its number.
void move(const World& world, const std::vector<Layout>& layouts, long call);
/// Runs a random reduction.
void reduce(const World& world, long call);

}  // namespace program
