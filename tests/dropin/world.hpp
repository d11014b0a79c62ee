/// @file
/// Common parts of an MPI program that knows nothing of tutti.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <random>
#include <string>
#include <tuple>
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

/// Starts a collective before any has blocked, and waits for it after a message.
void start_first(const World& world);

/// Frees a communicator while a call on it is pending.
void free_before_the_end(const World& world);

/// Prepares collectives, and starts them several times, if the MPI can.
void start_prepared(const World& world);

/// The function by which a collective is called. Draws one; equal on all ranks.
struct Form {
  enum class Kind { blocks, starts, is_prepared };
  Kind kind = std::array{Kind::blocks, Kind::blocks, Kind::starts,
                         Kind::is_prepared}[static_cast<std::size_t>(below(4))];
  bool is_large = below(3) == 0;  // with counts of MPI_Count

  /// @param collective such as "Bcast". @return "MPI_Ibcast_c".
  [[nodiscard]] std::string name_of(std::string collective) const;
};
/// @param form becomes one that there is. @return the function: headers have not all of them.
void* find(const std::string& collective, Form& form);

/// A number of elements, and one for each rank: int, or MPI_Count in forms with large counts.
struct Count {
  int number;
};
using Counts = std::vector<int>;

/// An argument with numbers of one width.
template <class Number, class T>
T widened(const T& argument) {
  return argument;
}
template <class Number>
Number widened(const Count& count) {
  return static_cast<Number>(count.number);
}
template <class Number>
std::vector<Number> widened(const Counts& counts) {
  return {counts.begin(), counts.end()};
}
/// An argument as a function of C takes it.
template <class T>
T passed(const T& argument) {
  return argument;
}
template <class Number>
const Number* passed(const std::vector<Number>& numbers) {
  return numbers.data();
}

template <class... A>
void call(void* function, A... arguments) {
  reinterpret_cast<int (*)(A...)>(function)(arguments...);
}

template <class... A>
void run_form(const World& world, Form::Kind kind, void* function, A... arguments) {
  MPI_Request request = MPI_REQUEST_NULL;
  switch (kind) {
    case Form::Kind::blocks: return call(function, arguments...);
    case Form::Kind::starts: call(function, arguments..., &request); return finish(world, request);
    case Form::Kind::is_prepared:
      call(function, arguments..., MPI_INFO_NULL, &request);
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Request_free(&request);
  }
}

template <class Number, class... A>
void run_with(const World& world, Form::Kind kind, void* function, const A&... arguments) {
  // Arrays live until the call has ended.
  const std::tuple<decltype(widened<Number>(arguments))...> all{widened<Number>(arguments)...};
  std::apply([&](const auto&... each) { run_form(world, kind, function, passed(each)...); }, all);
}

/// Runs a collective in a form. @param collective such as "Bcast". @param arguments of the form
/// that blocks.
template <class... A>
void run(const World& world, Form form, const std::string& collective, const A&... arguments) {
  void* const function = find(collective, form);
  if (form.is_large) run_with<MPI_Count>(world, form.kind, function, arguments...);
  else run_with<int>(world, form.kind, function, arguments...);
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
