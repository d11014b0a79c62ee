// Predicted times against the closed forms of the literature, compared as integers.
#include <tutti/spi/catalog.hpp>

#include "closed_forms.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "selector/predict.hpp"

namespace tutti::v0 {
namespace {

using closed_forms::every_form, closed_forms::Form, closed_forms::levels, closed_forms::Terms,
    closed_forms::kAlpha, closed_forms::kBeta, closed_forms::kGamma;

/// The choice for p ranks.
Choice choice_of(const Form& form, std::int64_t p) {
  std::string text = form.choice;
  if (const std::size_t place = text.find('#'); place != text.npos)
    text.replace(place, 1, std::to_string(p / form.rows));
  return parse_choice(form.collective, text);
}

void expect_equal(const Form& form) {
  for (std::int64_t p : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 18, 27, 32, 33}) {
    if (!form.applies(p)) continue;
    Terms t{.p = p, .m = 64 * p * p, .q = levels(p, 2), .w = 0, .segments = form.segments};
    t.w = t.m / p * (p - 1);
    const Choice choice = choice_of(form, p);
    const auto bytes = static_cast<std::size_t>(t.m);
    const std::size_t segment =
        form.segments == 1 ? 0 : bytes / static_cast<std::size_t>(form.segments);
    const Profile profile = profile_of(choice, static_cast<int>(p), 0);
    EXPECT_EQ(profile.time(bytes, segment, {kAlpha, kBeta, kGamma}), form.time(t))
        << name_of(form.collective) << " " << form.choice << " on " << p << " ranks";
  }
}

TEST(ClosedForms, AreMet) {
  for (const Form& form : every_form()) expect_equal(form);
}

// Every row needs a closed form of its cost.
TEST(ClosedForms, AreThoseOfEveryRow) {
  std::set<const Algorithm*> met;
  for (const Form& form : every_form()) met.insert(choice_of(form, 18).algorithm);
  for (const Algorithm& row : catalog())
    EXPECT_TRUE(met.contains(&row) || row.collective == Collective::barrier)  // those are below
        << name_of(row.collective) << " " << row.name;
}

// Rounds: k transfers at a time, and as many as there are digits, or blocks and doublings.
TEST(ClosedForms, OfRoundsAreMet) {
  const auto rounds = [](Collective collective, const char* choice, int size) {
    return profile_of(parse_choice(collective, choice), size, 0).rounds;
  };
  EXPECT_EQ(rounds(Collective::all_to_all, "linear:k=4", 10), 3U);
  EXPECT_EQ(rounds(Collective::all_to_all, "linear:k=4", 9), 2U);
  EXPECT_EQ(rounds(Collective::scatter, "linear:k=4", 10), 3U);
  EXPECT_EQ(rounds(Collective::gather, "linear:k=4", 9), 2U);
  EXPECT_EQ(rounds(Collective::all_to_all, "bruck:k=3", 28), 4U);
  EXPECT_EQ(rounds(Collective::broadcast, "circulant:b=20", 33), 25U);
  EXPECT_EQ(rounds(Collective::all_gather, "circulant_blocks:b=20", 33), 25U);
  EXPECT_EQ(rounds(Collective::all_gather, "pat:a=4", 64), 17U);
  EXPECT_EQ(rounds(Collective::all_reduce, "recursive_multiplying:k=8", 64), 2U);
  EXPECT_EQ(rounds(Collective::all_reduce, "parameter_server:s=3", 64), 2U);
}

TEST(ClosedForms, OfTheBarrierAreMet) {
  const auto time = [](const char* choice, int size) {
    return profile_of(parse_choice(Collective::barrier, choice), size, 0)
        .time(0, 0, {kAlpha, kBeta, kGamma});
  };
  EXPECT_EQ(time("dissemination", 1), 0);
  EXPECT_EQ(time("dissemination", 5), 3 * kAlpha);
  EXPECT_EQ(time("dissemination", 64), 6 * kAlpha);
  EXPECT_EQ(time("dissemination:k=4", 64), 3 * 3 * kAlpha);
  EXPECT_EQ(time("hierarchical(dissemination, dissemination:k=3):groups=3", 27), (4 + 2) * kAlpha);
}

TEST(ClosedForms, DoNotDependOnTheRoot) {
  for (const char* name : {"binomial", "knomial:k=3", "chain", "scatter_all_gather",
                           "double_binary_tree", "circulant"}) {
    const Choice choice = parse_choice(Collective::broadcast, name);
    for (const Rank root : {0, 3, 8})
      EXPECT_EQ(profile_of(choice, 9, root), profile_of(choice, 9, 0)) << name << " " << root;
  }
}

}  // namespace
}  // namespace tutti::v0
