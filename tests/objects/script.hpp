/// @file
/// A script of object collectives for each rank, against plain loops: many at once, and such as are
/// refused. The matrix has every call by itself.
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/communicator.hpp>
#include <tutti/objects.hpp>

#include "tests/objects/text.hpp"

namespace tutti::test {

/// Two types of one name and of different sizes, as two programs may have them.
struct SmallReading {
  double value = 0;
};
/// @copydoc SmallReading
struct LargeReading {
  double value = 0;
  double error = 0;
};

}  // namespace tutti::test

template <>
inline constexpr std::string_view tutti::type_name<tutti::test::SmallReading> = "Reading";
template <>
inline constexpr std::string_view tutti::type_name<tutti::test::LargeReading> = "Reading";

namespace tutti::test {

/// @return a text that a rank gives to another one. @param large whether it needs a second round.
[[nodiscard]] inline samples::Text letter(Rank from, Rank to, bool large) {
  const auto seed = static_cast<std::size_t>(from * 17 + to);
  return samples::text_of((large ? 123456 : 20) + seed, seed);
}

/// @return what another rank gives, where the rank of an even number is the one with large ones.
[[nodiscard]] inline samples::Text mixed(Rank from, Rank to) {
  return letter(from, to, from % 2 == 0);
}

/// Some under way at once, among other calls, awaited in another order on each rank.
inline void overlap_objects(Communicator& world) {
  const Rank self = world.rank();
  std::vector<double> sums(5000, self);
  auto first = objects(world).async().all_gather(mixed(self, 0));
  auto second = objects(world).async().broadcast(letter(self, 1, true), 0);
  Request sum = world.async().all_reduce(sums);
  auto third = objects(world).async().all_to_all(
      std::vector<samples::Text>(static_cast<std::size_t>(world.size()), mixed(self, 3)));
  if (self % 2 == 0) sum.wait();
  EXPECT_EQ(third.wait()[0], mixed(0, 3));
  if (self % 2 != 0) {
    EXPECT_EQ(first.wait()[0], mixed(0, 0));
  }
  EXPECT_EQ(second.wait(), letter(0, 1, true));
  if (self % 2 == 0) {
    EXPECT_EQ(first.wait()[0], mixed(0, 0));
  }
  sum.wait();
  EXPECT_EQ(sums[4999], world.size() * (world.size() - 1) / 2);
}

/// Around the ring, of small and large ones at once.
inline void pass_objects(Communicator& world) {
  const Rank self = world.rank();
  const Rank right = (self + 1) % world.size();
  const Rank left = (self + world.size() - 1) % world.size();
  auto small = objects(world).async().send(letter(self, right, false), right, 1);
  auto large = objects(world).async().send(letter(self, right, true), right, 1);
  auto first = objects(world).async().recv<samples::Text>(left, 1);
  EXPECT_EQ(objects(world).recv<samples::Text>(left, 1), letter(left, self, true));
  EXPECT_EQ(first.wait(), letter(left, self, false));
  small.wait();
  large.wait();
}

/// Objects that cannot be moved are an error on all ranks, after which all goes on.
inline void reject_objects(Communicator& world) {
  const Rank self = world.rank();
  for (Rank odd = 0; odd < std::min(world.size(), 3); ++odd) {
    const auto own = self == odd ? samples::kUnwritable : mixed(self, 0);
    const auto all = objects(world).try_().all_gather(own);
    const auto root = objects(world).try_().gather(own, 0);
    for (const Error* error : {all ? nullptr : &all.error(), root ? nullptr : &root.error()}) {
      ASSERT_NE(error, nullptr);
      EXPECT_EQ(error->code(), ErrorCode::object) << error->what();
      EXPECT_EQ(error->culprit(), odd) << error->what();
    }
  }
}

/// The errors among results.
template <class... Results>
[[nodiscard]] std::vector<Error> errors_of(const Results&... results) {
  std::vector<Error> errors;
  ((results ? void() : errors.push_back(results.error())), ...);
  return errors;
}

/// @return a rank's errors in calls with objects of its type. @param root of the calls that have
/// one.
template <class T>
[[nodiscard]] std::vector<Error> refusals(Communicator& world, Rank root) {
  const std::vector<T> row(static_cast<std::size_t>(world.size()));
  const auto first = [](T a, const T& /*b*/) { return a; };
  const bool is_root = world.rank() == root;
  // One after the other, as in a list between braces.
  const std::tuple results{objects(world).try_().broadcast(T{}, root),
                           objects(world).try_().scatter(is_root ? row : std::vector<T>{}, root),
                           objects(world).try_().gather(T{}, root),
                           objects(world).try_().all_gather(T{}),
                           objects(world).try_().all_to_all(row),
                           objects(world).try_().reduce(T{}, first, root),
                           objects(world).try_().all_reduce(T{}, first)};
  return std::apply([](const auto&... all) { return errors_of(all...); }, results);
}

/// @return a rank's errors if one rank gives this many objects and the others one for each rank.
[[nodiscard]] inline std::vector<Error> refusals_of_counts(Communicator& world, Rank odd,
                                                           int count) {
  const bool is_odd = world.rank() == odd;
  const std::vector<double> row(static_cast<std::size_t>(is_odd ? count : world.size()));
  const auto scattered = objects(world).try_().scatter(is_odd ? row : std::vector<double>{}, odd);
  const auto exchanged = objects(world).try_().all_to_all(row);
  return errors_of(scattered, exchanged);
}

/// Expects the same errors on all ranks, by this number of calls, and a usable communicator. @param
/// culprit of all, or -1 for any rank.
inline void expect_told(Communicator& world, const std::vector<Error>& errors, std::size_t calls,
                        Rank culprit) {
  EXPECT_EQ(errors.size(), calls) << "a call did not fail";
  samples::Text told;
  for (const Error& error : errors) {
    EXPECT_EQ(error.code(), ErrorCode::object) << error.what();
    if (culprit >= 0) {
      EXPECT_EQ(error.culprit(), culprit) << error.what();
    }
    told.words += error.what();
  }
  for (const samples::Text& other : objects(world).all_gather(told)) EXPECT_EQ(other, told);
}

/// So are objects of another type on one rank, and others than one for each rank.
inline void reject_others(Communicator& world) {
  const Rank last = world.size() - 1;
  if (last == 0) return;
  for (const Rank odd : {Rank{0}, last}) {
    const bool is_odd = world.rank() == odd;
    const Rank culprit = last == 1 ? -1 : odd;  // of two, either may be
    const Rank root = last - odd;
    expect_told(world,
                is_odd ? refusals<std::uint64_t>(world, root) : refusals<double>(world, root), 7,
                culprit);
    const std::vector<Error> readings =
        is_odd ? refusals<SmallReading>(world, odd) : refusals<LargeReading>(world, odd);
    expect_told(world, readings, 7, culprit);
    for (const Error& error : readings)
      EXPECT_NE(std::string{error.what()}.find("another type with this name"), std::string::npos)
          << error.what();
    for (const int count : {world.size() - 1, world.size() + 1})
      expect_told(world, refusals_of_counts(world, odd, count), 2, odd);
  }
}

/// All of the above.
inline void run_object_script(Communicator& world) {
  overlap_objects(world);
  pass_objects(world);
  reject_objects(world);
  reject_others(world);
  overlap_objects(world);
}

}  // namespace tutti::test
