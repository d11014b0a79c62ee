// A picture shows each message once, when it happens, and arrows point downwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/catalog.hpp>

#include "proof/verify_row.hpp"
#include "schedules/print_picture.hpp"

namespace tutti::v0 {
namespace {

struct Drawn {
  std::vector<Schedule> schedules;
  Printed printed;
  Picture picture;
};

Drawn draw(Collective collective, const char* name, int size, Rank root = 0) {
  Drawn drawn;
  const Choice choice = parse_choice(collective, name);
  for (Rank rank = 0; rank < size; ++rank)
    drawn.schedules.push_back(choice.build(size, root, rank));
  drawn.printed = {
      .algorithm = name, .collective = collective, .root = root, .schedules = drawn.schedules};
  drawn.picture = picture_of(drawn.printed);
  return drawn;
}

const Arrow& arrow(const Picture& picture, Rank from, Rank to, int nth = 0) {
  for (const Arrow& a : picture.arrows)
    if (a.from == from && a.to == to && nth-- == 0) return a;
  throw Error{ErrorCode::invalid_argument, "no such arrow"};
}

TEST(Picture, OfARingGoesAround) {
  const Picture picture = draw(Collective::all_reduce, "ring", 4).picture;
  EXPECT_EQ(picture.steps, 6);
  EXPECT_EQ(picture.arrows.size(), 24u);
  EXPECT_EQ(picture.title, "ring all_reduce on 4 ranks");
  EXPECT_EQ(picture.subtitle,
            "6 rounds, 24 messages; a rank sends at most 1.5 of the vector; "
            "labels name the units sent, 0..3");
  const Arrow& last = arrow(picture, 3, 0);
  EXPECT_TRUE(last.wraps);
  EXPECT_TRUE(last.reduces);
  EXPECT_EQ(last.label, "2");
  EXPECT_EQ(distance_of(last, 4), 1);
  EXPECT_FALSE(arrow(picture, 0, 1).wraps);
  EXPECT_FALSE(arrow(picture, 0, 1, 3).reduces);
}

TEST(Picture, OfATreeShowsMessagesWhenTheyHappen) {
  const Picture picture = draw(Collective::broadcast, "binomial", 8, 3).picture;
  EXPECT_EQ(picture.steps, 3);
  EXPECT_EQ(picture.title, "binomial broadcast on 8 ranks, root 3");
  // Virtual rank 1 is a leaf: the root sends to it last, though it has been waiting all along.
  EXPECT_EQ(arrow(picture, 3, 4).start, 2);
  EXPECT_EQ(arrow(picture, 3, 4).end, 3);
  EXPECT_EQ(arrow(picture, 3, 7).start, 0);
  EXPECT_EQ(arrow(picture, 3, 4).label, "");
  EXPECT_TRUE(std::none_of(picture.arrows.begin(), picture.arrows.end(),
                           [](const Arrow& a) { return a.wraps; }));
}

TEST(Picture, LabelsJoinRunsAndShortenLongLists) {
  const Picture picture = draw(Collective::all_reduce, "circulant", 16).picture;
  EXPECT_EQ(arrow(picture, 0, 8).label, "8..15");
  EXPECT_EQ(arrow(picture, 1, 9).label, "9..15,0");
  EXPECT_EQ(arrow(picture, 4, 12).label, "8 units");
  EXPECT_EQ(arrow(draw(Collective::all_to_all, "pairwise", 3).picture, 2, 0).label, "2>0");
}

TEST(Picture, CrowdedLabelsAreLeftOut) {
  const Picture crowded = draw(Collective::all_to_all, "direct", 8).picture;
  for (const Arrow& a : crowded.arrows) EXPECT_EQ(a.label, "");
  EXPECT_EQ(crowded.subtitle.find("labels"), std::string::npos);
}

TEST(Picture, OfEveryRowHasEveryMessageOnceAndDownwards) {
  for (const Algorithm& row : catalog()) {
    if (!admits(row.traits.sizes, 4)) continue;
    const Choice choice = verified_choices(row, 4, 1).front();
    const Picture picture = draw(row.collective, choice.text().c_str(), 4).picture;
    std::size_t messages = 0;
    bool reduces = false;
    for (Rank rank = 0; rank < 4; ++rank) {
      const Schedule schedule = choice.build(4, 0, rank);
      for (const Step& step : schedule.steps())
        reduces = reduces || step.kind() == Step::Kind::recv_reduce;
      for (std::size_t round = 0; round < schedule.rounds(); ++round)
        for (Rank peer = 0; peer < 4; ++peer)
          messages += std::any_of(schedule.round(round).begin(), schedule.round(round).end(),
                                  [peer](const Step& step) {
                                    return step.kind() == Step::Kind::send && step.peer() == peer;
                                  });
    }
    EXPECT_EQ(picture.arrows.size(), messages) << row.name;
    for (const Arrow& a : picture.arrows) {
      EXPECT_LT(a.start, a.end) << row.name;
      EXPECT_LE(a.end, picture.steps) << row.name;
    }
    const bool combines =
        std::any_of(picture.marks.begin(), picture.marks.end(),
                    [](const Mark& m) { return m.kind == Mark::WorkType::combine; });
    EXPECT_EQ(combines, reduces) << name_of(row.collective) << " " << choice.text();
  }
}

TEST(Picture, SvgIsBalancedAndHasAnArrowPerMessage) {
  const Drawn drawn = draw(Collective::all_to_all, "pairwise", 5);
  const std::string svg = to_svg(drawn.printed);
  EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
  EXPECT_NE(svg.find(">0&gt;1</text>"), std::string::npos) << "labels are escaped";
  const auto count = [&svg](const char* pattern) {
    const std::regex expression{pattern};
    return std::distance(std::sregex_iterator{svg.begin(), svg.end(), expression}, {});
  };
  EXPECT_EQ(count("<[a-z]+[^>/]*>|<[a-zA-Z]+ [^>]*[^/]>"), count("</[a-zA-Z]+>"));
  std::ptrdiff_t wraps = 0;
  for (const Arrow& a : drawn.picture.arrows) wraps += a.wraps;
  EXPECT_EQ(wraps, 6);  // one of step 1, two of step 2, two of step 3, one of step 4
  // An arrow that wraps is drawn at both margins; one more is in the legend.
  EXPECT_EQ(count("marker-end"), 20 + wraps + 1);
}

// Pictures that a person has looked at. After a change that is meant, look at what
// `tutti show COLLECTIVE ALGORITHM --ranks N --root R --rank K --format svg --output FILE` draws,
// and keep it.
void expect_as_kept(const std::string& file, Drawn drawn, std::optional<Rank> only = {}) {
  std::ifstream kept{std::string{TUTTI_PICTURES "/"} + file};
  ASSERT_TRUE(kept) << file;
  drawn.printed.only = only;
  std::istringstream svg{to_svg(drawn.printed)};
  std::string expected, line;
  for (int number = 1; std::getline(kept, expected); ++number) {
    ASSERT_TRUE(std::getline(svg, line)) << file << " has more lines";
    ASSERT_EQ(line, expected) << file << ":" << number;
  }
  EXPECT_FALSE(std::getline(svg, line)) << file << " lacks " << line;
}

TEST(Picture, LooksAsItWasSeen) {
  expect_as_kept("all_reduce_circulant_5.svg", draw(Collective::all_reduce, "circulant", 5));
  expect_as_kept("exscan_chain_4.svg", draw(Collective::exscan, "chain", 4));
  expect_as_kept("reduce_knomial_9.svg", draw(Collective::reduce, "knomial:k=4", 9, 2), 3);
}

TEST(Picture, OfNothingIsRefused) {
  EXPECT_THROW((void)picture_of({.algorithm = "none"}), Error);
}

}  // namespace
}  // namespace tutti::v0
