/// @file
/// Typed calls of a Communicator on every rank of a simulated cluster, in each of their four
/// styles, and the plain loops that they are compared with.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/testing.hpp>

namespace tutti::harness {

using Vector = std::vector<int>;
using Sizes = std::vector<std::size_t>;

inline constexpr int kSize = 3;
inline constexpr Rank kRoot = 1;          // not the default
inline const Operator& kOperator = max;   // not the default
inline constexpr std::size_t kCount = 5;  // of a block, where all are equal

/// Unlike all others, and now one rank has the largest, now another.
inline int value(Rank rank, std::size_t index) {
  return (rank * 100 + static_cast<int>(index)) * 37 % 1009;
}

/// @return the elements [begin, begin + count) of a rank's vector.
inline Vector part(Rank rank, std::size_t begin, std::size_t count) {
  Vector data;
  for (std::size_t i = begin; i < begin + count; ++i) data.push_back(value(rank, i));
  return data;
}

/// @return the maxima of the elements [begin, begin + count) of the ranks below `end`.
inline Vector maxima(Rank end, std::size_t begin, std::size_t count) {
  Vector data = part(0, begin, count);
  for (Rank rank = 1; rank < end; ++rank)
    for (std::size_t i = 0; i < count; ++i) data[i] = std::max(data[i], value(rank, begin + i));
  return data;
}

/// @return the first `count` elements of each rank's vector.
inline Vector together(const Sizes& counts) {
  Vector all;
  for (Rank rank = 0; rank < kSize; ++rank)
    for (const int element : part(rank, 0, counts[static_cast<std::size_t>(rank)]))
      all.push_back(element);
  return all;
}

inline void complete(Request request) {
  request.wait();
}
inline void complete(Plan plan) {
  plan.start();
  plan.wait();
}
inline void complete(const Result<void>& result) {
  if (!result) throw Error{result.error()};
}

/// Makes a call of any style, and waits for its end.
template <class Call>
void finish(const Call& call, Vector& out, const Options& options) {
  if constexpr (std::is_void_v<decltype(call(out, options))>) call(out, options);
  else complete(call(out, options));
}

/// Makes a call in one style, after one that is refused for an option that it has to pass on.
/// @param initial what is in the output before. @param wanted what is there afterwards.
template <class Call>
void check_style(const Call& call, const Vector& initial, const Vector& wanted) {
  Vector out = initial;
  try {
    finish(call, out, {.algorithm = "nonesuch"});
    ADD_FAILURE() << "the options are lost";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
    EXPECT_EQ(out, initial);
  }
  finish(call, out, {});
  EXPECT_EQ(out, wanted);
}

/// As check_style, of all four styles. @param call gets what has the methods, the output and
/// options.
template <class Call>
void check(Communicator& c, const Vector& initial, const Vector& wanted, const Call& call) {
  const auto check_one = [&](const char* name, auto&& style) {
    SCOPED_TRACE(name);
    check_style([&](Vector& out, const Options& options) { return call(style, out, options); },
                initial, wanted);
  };
  check_one("blocking", c);
  check_one("nonblocking", c.async());
  check_one("persistent", c.plan());
  check_one("attempt", c.try_());
}

/// Makes calls on every rank.
template <class Body>
void on_all_ranks(const Body& body) {
  const auto errors = sim::run_ranks({.size = kSize, .scribble = true}, [&](Communicator& c) {
    SCOPED_TRACE("rank " + std::to_string(c.rank()));
    body(c, c.rank());
  });
  for (const auto& error : errors) EXPECT_FALSE(error) << error->what();
}

/// @return the content of an output that no call wrote.
inline Vector blank(std::size_t count = kCount) {
  return Vector(count, -1);
}

}  // namespace tutti::harness
