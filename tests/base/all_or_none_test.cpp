// Steps that fail on all ranks or on none.
#include "base/all_or_none.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

namespace tutti::v0::detail {
namespace {

using StringPart = std::function<std::string()>;
using VoidPart = std::function<void()>;

/// Runs a step of all ranks in one thread. Each rank first sends its bytes, and is run again when
/// the bytes of all ranks are known.
template <class Part, class Then>
void run(const std::vector<Part>& parts, std::string_view failure, Then then) {
  struct Sent {};
  std::vector<std::string> all;
  for (const Part& part : parts) try {
      static_cast<void>(all_or_none(
          [&](std::string_view own) -> std::vector<std::string> {
            all.emplace_back(own);
            throw Sent{};
          },
          part));
    } catch (const Sent&) {
    }
  ASSERT_EQ(all.size(), parts.size()) << "each rank sends its outcome, whatever its part throws";
  for (std::size_t rank = 0; rank < parts.size(); ++rank)
    then(rank, [&] { return all_or_none([&](auto) { return all; }, parts[rank], failure); });
}

/// @return the Error that all ranks throw.
Error error_of_all(const std::vector<VoidPart>& parts, std::string_view failure = {}) {
  std::vector<Error> errors;
  run(parts, failure, [&](std::size_t rank, auto step) {
    try {
      step();
      ADD_FAILURE() << "rank " << rank << " has not thrown";
    } catch (const Error& error) {
      errors.push_back(error);
    }
  });
  for (const Error& error : errors) {
    EXPECT_EQ(error.code(), errors[0].code());
    EXPECT_STREQ(error.what(), errors[0].what());
    EXPECT_EQ(error.culprit(), errors[0].culprit());
  }
  return errors.empty() ? Error{ErrorCode::bug, "no rank threw"} : errors[0];
}

VoidPart throwing(ErrorCode code, const std::string& text, Rank culprit = -1) {
  return [=] { throw Error{code, text, culprit}; };
}
const VoidPart kGood = [] {};

void expect_error(const Error& error, ErrorCode code, const std::string& text, Rank culprit) {
  EXPECT_EQ(error.code(), code) << error.what();
  EXPECT_EQ(error.what(), text);
  EXPECT_EQ(error.culprit(), culprit) << error.what();
}

TEST(AllOrNone, HasTheResultsOfAllRanks) {
  run(std::vector<StringPart>{[] { return std::string{}; }, [] { return std::string(9, '\0'); },
                              [] { return std::string{"three"}; }},
      {}, [](std::size_t, auto step) {
        EXPECT_EQ(step(), (std::vector<std::string>{"", std::string(9, '\0'), "three"}));
      });
  run(std::vector<std::function<Rank()>>{[] { return 7; }, [] { return -1; }}, {},
      [](std::size_t, auto step) {
        EXPECT_EQ(step(), (std::vector<Rank>{7, -1}));
      });
}

TEST(AllOrNone, CatchesEverything) {
  expect_error(error_of_all({kGood, [] { throw std::runtime_error{"no luck"}; }}),
               ErrorCode::transport, "no luck", 1);
  expect_error(error_of_all({kGood, [] { throw std::bad_alloc{}; }}), ErrorCode::transport,
               "no memory is left", 1);
  EXPECT_EQ(error_of_all({kGood, kGood, [] { throw 7; }}).culprit(), 2);
}

TEST(AllOrNone, ThrowsTheErrorThatSaysMost) {
  const std::vector<VoidPart> ladder{[] {
                                       throw Departure{ErrorCode::transport, "rank 3 left", 3};
                                     },
                                     throwing(ErrorCode::peer_dead, "rank 3 died", 3),
                                     throwing(ErrorCode::timeout, "rank 3 was late", 3),
                                     throwing(ErrorCode::invalid_argument, "the file is missing")};
  const std::vector<std::string> texts{"rank 3 left", "rank 3 died", "rank 3 was late",
                                       "the file is missing"};
  for (std::size_t best = 0; best < ladder.size(); ++best) {
    std::vector<VoidPart> parts{ladder.begin(), ladder.begin() + std::ptrdiff_t(best) + 1};
    parts.push_back(kGood);
    EXPECT_EQ(error_of_all(parts).what(), texts[best]);
    std::reverse(parts.begin(), parts.end());
    EXPECT_EQ(error_of_all(parts).what(), texts[best]);
  }
}

TEST(AllOrNone, OfEqualErrorsThrowsThatOfTheLowestRank) {
  const auto first = throwing(ErrorCode::mismatch, "first");
  const auto second = throwing(ErrorCode::aborted, "second");
  expect_error(error_of_all({kGood, first, second}), ErrorCode::mismatch, "first", 1);
  expect_error(error_of_all({kGood, second, first}), ErrorCode::aborted, "second", 1);
}

TEST(AllOrNone, BlamesTheRankThatTheErrorNames) {
  expect_error(error_of_all({kGood, throwing(ErrorCode::mismatch, "rank 0 differs", 0)}),
               ErrorCode::mismatch, "rank 0 differs", 0);
}

TEST(AllOrNone, BlamesNoRankWhereAllFail) {
  const auto bad = throwing(ErrorCode::invalid_argument, "bad");
  expect_error(error_of_all({bad, bad}), ErrorCode::invalid_argument, "bad", -1);
  expect_error(error_of_all({bad}), ErrorCode::invalid_argument, "bad", 0);
}

TEST(AllOrNone, NamesTheRankAndItsFailure) {
  expect_error(
      error_of_all({kGood, throwing(ErrorCode::transport, "no GPU")}, "cannot attach a GPU"),
      ErrorCode::transport, "rank 1 cannot attach a GPU: no GPU", 1);
}

TEST(AllOrNone, CutsLongTexts) {
  const std::string longest(100000, 'x');
  EXPECT_EQ(error_of_all({throwing(ErrorCode::transport, longest)}).what(),
            longest.substr(0, 4096));
}

TEST(AllOrNone, RejectsWhatNoRankOfOursSends) {
  for (const std::string& bytes : {std::string{}, std::string{"\0\1", 2}, std::string{"abc"}})
    EXPECT_THROW(all_or_none([&](auto) { return std::vector<std::string>{bytes}; }, [] {}), Error);
}

}  // namespace
}  // namespace tutti::v0::detail
