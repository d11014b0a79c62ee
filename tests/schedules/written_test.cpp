// Schedules that are written to files and read again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <tutti/error.hpp>
#include <tutti/spi/catalog.hpp>
#include <tutti/spi/schedule_file.hpp>

#include "perf/failure.hpp"
#include "perf/load.hpp"
#include "schedules/print.hpp"
#include "schedules/print_msccl.hpp"
#include "schedules/written.hpp"

namespace tutti::perf {
namespace {

using written::proved_traits;

std::vector<Schedule> schedules_of(const Choice& choice, int size, Rank root) {
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < size; ++rank) schedules.push_back(choice.build(size, root, rank));
  return schedules;
}

std::string json_of(const Choice& choice, int size, Rank root) {
  const std::vector<Schedule> schedules = schedules_of(choice, size, root);
  return to_json({.algorithm = choice.text(),
                  .collective = choice.algorithm->collective,
                  .root = root,
                  .schedules = schedules});
}

/// Every row on several numbers of ranks. @param visit is given a choice, a size and a root.
template <class Visit>
void for_each_row(Visit visit) {
  for (const Algorithm& row : catalog()) {
    if (!has_default(row.parameter)) continue;
    const Choice choice{.algorithm = &row, .number = row.default_number};
    for (const int size : {1, 2, 3, 4, 6, 8, 13, 16, 18})
      if (admits(row.traits.sizes, size))
        visit(choice, size, is_rooted(row.collective) ? size - 1 : 0);
  }
}

std::string refusal(const std::string& text,
                    WrittenSchedules (*read)(std::string_view) = read_json_schedules) {
  try {
    (void)read(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
    return error.what();
  }
  return {};
}

TEST(Written, AsJsonIsReadAsItWas) {
  for_each_row([](const Choice& choice, int size, Rank root) {
    const WrittenSchedules read = read_json_schedules(json_of(choice, size, root));
    EXPECT_EQ(read.name, choice.text());
    EXPECT_EQ(read.collective, choice.algorithm->collective);
    EXPECT_EQ(read.root, root);
    ASSERT_EQ(read.schedules, schedules_of(choice, size, root))
        << choice.text() << " on " << size << " ranks";
  });
}

TEST(Written, IsProvedWithAllThatHolds) {
  const Choice ring = parse_choice(Collective::all_reduce, "ring");
  const Traits traits = proved_traits(read_json_schedules(json_of(ring, 5, 0)));
  EXPECT_TRUE(traits.rotational);
  EXPECT_EQ(traits.ordered, When::never);
  EXPECT_EQ(traits.rank_identical, When::always);
}

constexpr const char* kPair =
    R"({"algorithm":"pair","collective":"broadcast","size":2,"root":0,"units":1,"planes":0,"ranks":[)"
    R"({"rank":0,"rounds":[[{"step":"send","peer":1,"space":"out","first":0,"count":1}]]},)"
    R"({"rank":1,"rounds":[[{"step":"recv","peer":0,"space":"out","first":0,"count":1}]]}]})";

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kPair;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Written, ThatCannotBeIsRefused) {
  EXPECT_EQ(refusal(kPair), "");
  const std::array<std::array<const char*, 3>, 20> cases{{
      {R"({"alg)", R"(["alg)", "not JSON"},
      {R"("algorithm")", R"("algorithms")", "there is no \"algorithm\""},
      {R"("broadcast")", R"("broadcasts")", "'broadcasts' is not a collective"},
      {R"("broadcast")", "7", "\"collective\" is not a text"},
      {R"("size":2)", R"("size":3)", "schedules of 2 ranks, expected 3"},
      {R"("size":2)", R"("size":0)", "size 0 is not in 1 .. 4096"},
      {R"("size":2)", R"("size":1e300)", "\"size\" is not a valid number"},
      {R"("size":2)", R"("size":-2)", "\"size\" is not a valid number"},
      {R"("root":0)", R"("root":2)", "root 2 is not in 0 .. 1"},
      {R"("units":1)", R"("units":4000000000)", "units 4000000000 is not in"},
      {R"("units":1)", R"("units":4000000)", "too many slots"},
      {R"("planes":0)", R"("planes":4000000)", "too many slots"},
      {R"("rank":1)", R"("rank":0)", "that of rank 1 is not in its place"},
      {R"("send")", R"("sent")", "rank 0, round 1: 'sent' is not a step"},
      {R"("peer":1)", R"("peer":2)", "peer 2 is not in 0 .. 1"},
      {R"("peer":1,)", "", "peer -1 is not in 0 .. 1"},
      {R"("first":0)", R"("first":1)", "first slot 1 is not in 0 .. 0"},
      {R"("count":1)", R"("count":2)", "count of slots 2 is not in 1 .. 1"},
      {R"("space":"out")", R"("space":"scratch")", "count of slots 1 is not in 1 .. 0"},
      {R"([[{"step":"send","peer":1,"space":"out","first":0,"count":1}]])", "[[]]",
       "round 1 of rank 0 is empty"},
  }};
  for (const auto& [from, to, words] : cases)
    EXPECT_NE(refusal(changed(from, to)).find(words), std::string::npos)
        << to << ": " << refusal(changed(from, to));
  const std::string whole = kPair;
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(refusal(whole.substr(0, length)).empty()) << length;
  EXPECT_FALSE(refusal(std::string(100'000, '[')).empty());
}

TEST(Written, AsXmlIsReadAsItWas) {
  for_each_row([](const Choice& choice, int size, Rank root) {
    const std::vector<Schedule> schedules = schedules_of(choice, size, root);
    const WrittenSchedules read =
        read_msccl_schedules(to_msccl({.algorithm = choice.text(),
                                       .collective = choice.algorithm->collective,
                                       .root = root,
                                       .schedules = schedules}));
    EXPECT_EQ(read.name, choice.text());
    EXPECT_EQ(read.collective, choice.algorithm->collective);
    EXPECT_EQ(read.root, root);
    ASSERT_EQ(read.schedules, schedules) << choice.text() << " on " << size << " ranks";
  });
}

// One message that its ends see in other steps is written in as many pieces as both have ends of
// steps, which are one step again when it is read.
TEST(Written, AsXmlKeepsStepsThatItsPeersDivideOtherwise) {
  const auto out = [](std::uint32_t first, std::uint32_t count) {
    return Slots{Space::out, first, count};
  };
  Schedule root{5};
  root.round({Send{1, out(0, 3)}, Send{1, out(3, 2)}});
  Schedule other{5};
  other.round({Recv{0, out(0, 1)}, Recv{0, out(1, 4)}});
  const std::vector<Schedule> schedules{root, other};
  const WrittenSchedules read = read_msccl_schedules(to_msccl(
      {.algorithm = "pieces", .collective = Collective::broadcast, .schedules = schedules}));
  EXPECT_EQ(read.schedules, schedules);
}

/// A step as MSCCL's tools write it.
std::string step(int s, const std::string& type, const std::string& from, const std::string& to,
                 int depid = -1, int deps = -1) {
  return "<step s=\"" + std::to_string(s) + "\" type=\"" + type + "\" srcbuf=\"" +
         from.substr(0, 1) + "\" srcoff=\"" + from.substr(1) + "\" dstbuf=\"" + to.substr(0, 1) +
         "\" dstoff=\"" + to.substr(1) + "\" cnt=\"1\" depid=\"" + std::to_string(depid) +
         "\" deps=\"" + std::to_string(deps) + "\" hasdep=\"0\"/>";
}
std::string block(int id, int send, int recv, const std::string& steps) {
  return "<tb id=\"" + std::to_string(id) + "\" send=\"" + std::to_string(send) + "\" recv=\"" +
         std::to_string(recv) + "\" chan=\"0\">" + steps + "</tb>";
}
std::string program(const std::string& coll, int chunks, int inplace,
                    const std::vector<std::string>& ranks) {
  std::string text =
      "<?xml version=\"1.0\"?><algo name=\"foreign\" proto=\"Simple\" nchannels=\"1\" "
      "nchunksperloop=\"" +
      std::to_string(chunks) + "\" ngpus=\"" + std::to_string(ranks.size()) + "\" coll=\"" + coll +
      "\" inplace=\"" + std::to_string(inplace) + "\" outofplace=\"0\">\n";
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    text += "<gpu id=\"" + std::to_string(rank) +
            "\" i_chunks=\"1\" o_chunks=\"1\" s_chunks=\"0\">" + ranks[rank] + "</gpu>\n";
  return text + "</algo>\n";
}

/// An all_reduce in a ring, with steps that receive, reduce and send at once.
std::string ring_of(int n) {
  std::vector<std::string> ranks;
  const auto chunk = [n](int c) { return "i" + std::to_string((c % n + n) % n); };
  for (int rank = 0; rank < n; ++rank) {
    std::string steps = step(0, "s", chunk(rank), chunk(rank));
    int s = 1;
    for (int k = 1; k < n - 1; ++k, ++s) steps += step(s, "rrs", chunk(rank - k), chunk(rank - k));
    steps += step(s++, "rrcs", chunk(rank - n + 1), chunk(rank - n + 1));
    for (int k = 0; k < n - 2; ++k, ++s) steps += step(s, "rcs", chunk(rank - k), chunk(rank - k));
    steps += step(s, "r", chunk(rank + 2), chunk(rank + 2));
    ranks.push_back(block(0, (rank + 1) % n, (rank + n - 1) % n, steps));
  }
  return program("allreduce", n, 1, ranks);
}

TEST(Written, ByOthersForMscclIsReadAndProved) {
  for (const int n : {2, 3, 4, 7}) {
    const WrittenSchedules ring = read_msccl_schedules(ring_of(n));
    EXPECT_EQ(ring.name, "foreign");
    EXPECT_EQ(ring.collective, Collective::all_reduce);
    EXPECT_EQ(ring.schedules.front().rounds(), static_cast<std::size_t>(2 * (n - 1)));
    EXPECT_TRUE(proved_traits(ring).rotational) << n;
  }
  // Several chunks of one message, which no other step comes between.
  const auto gatherer = [](int self) {
    const std::string other = std::to_string(1 - self);
    const auto chunk = [](int c) { return "o" + std::to_string(c); };
    const int own = 2 * self;
    const int theirs = 2 - own;
    return block(0, 1 - self, -1,
                 step(0, "s", chunk(own), chunk(own)) +
                     step(1, "s", chunk(own + 1), chunk(own + 1))) +
           block(1, -1, 1 - self,
                 step(0, "r", chunk(theirs), chunk(theirs)) +
                     step(1, "r", chunk(theirs + 1), chunk(theirs + 1)));
  };
  const WrittenSchedules gathering =
      read_msccl_schedules(program("allgather", 4, 1, {gatherer(0), gatherer(1)}));
  EXPECT_EQ(gathering.schedules.front().rounds(), 1U);
  EXPECT_TRUE(proved_traits(gathering).rotational);
  // Through scratch, and by threadblocks that wait for each other.
  const auto rank = [](int self) {
    const std::string own = "i" + std::to_string(self);
    const std::string other = "i" + std::to_string(1 - self);
    return block(0, 1 - self, -1,
                 step(0, "s", other, other) + step(1, "nop", "i0", "i0", 1, 1) +
                     step(2, "s", own, own)) +
           block(1, -1, 1 - self,
                 step(0, "r", own, "s0") + step(1, "re", "s0", own) +
                     step(2, "r", other, other, 0, 0));
  };
  const WrittenSchedules pair =
      read_msccl_schedules(program("allreduce", 2, 1, {rank(0), rank(1)}));
  EXPECT_EQ(proved_traits(pair).rank_identical, When::always);
}

TEST(Written, ForMscclThatCannotBeIsRefused) {
  const std::string good = ring_of(3);
  EXPECT_EQ(refusal(good, read_msccl_schedules), "");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return refusal(text.replace(at, from.size(), to), read_msccl_schedules);
  };
  const std::array<std::array<const char*, 3>, 15> cases{{
      {"<algo", "<!DOCTYPE a [<!ENTITY b \"c\">]><algo", "document type"},
      {"<gpu", "<tb", "<tb> in the wrong place"},
      {"</gpu>", "</tb>", "not XML"},
      {"<algo", "<algorithm", "expected an <algo> of MSCCL, found <algorithm>"},
      {"allreduce", "allreduces", "'allreduces' is not a collective"},
      {"ngpus=\"3\"", "ngpus=\"4\"", "ngpus is 4"},
      {"gpu id=\"1\"", "gpu id=\"5\"", "1 is missing"},
      {"nchunksperloop=\"3\"", "nchunksperloop=\"0\"", "nchunksperloop is 0"},
      {"nchunksperloop=\"3\"", "nchunksperloop=\"2\"",
       "step 0: a step uses a chunk beyond the end"},
      {"nchunksperloop=\"3\"", "nchunksperloop=\"99999999\"", "units 99999999"},
      {"cnt=\"1\"", "cnt=\"2\"", "different numbers of chunks"},
      {"cnt=\"1\"", "cnt=\"x\"", "gpu 0, tb 0, step 0: cnt=\"x\" is not a valid number"},
      {"type=\"s\"", "type=\"sr\"", "gpu 0, tb 0, step 0: 'sr' is not a step"},
      {"send=\"1\"", "send=\"9\"", "gpu 0, tb 0, step 0: rank 0 cannot send to"},
      {"depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"3\"", "wait for each other"},
  }};
  for (const auto& [from, to, words] : cases)
    EXPECT_NE(with(from, to).find(words), std::string::npos) << to << ": " << with(from, to);
  for (std::size_t length = 0; length + 1 < good.size(); length += 7)
    EXPECT_FALSE(refusal(good.substr(0, length), read_msccl_schedules).empty()) << length;
  std::string lonely = good;
  lonely.replace(lonely.find("type=\"r\""), 8, "type=\"nop\"");
  EXPECT_NE(refusal(lonely, read_msccl_schedules).find("does not receive exactly"),
            std::string::npos);
}

// As the fuzzer does, from its seeds.
TEST(Written, WithAnyBitChangedIsReadOrRefused) {
  int seeds = 0;
  for (const auto& entry : std::filesystem::directory_iterator{TUTTI_WRITTEN_SEEDS}) {
    std::ostringstream text;
    text << std::ifstream{entry.path(), std::ios::binary}.rdbuf();
    const auto read =
        entry.path().extension() == ".xml" ? read_msccl_schedules : read_json_schedules;
    EXPECT_NO_THROW((void)proved_traits(read(text.str()))) << entry.path();
    ++seeds;
    constexpr std::size_t kShort = 1200;
    for (std::size_t at = 0; at < text.str().size() && text.str().size() < kShort; ++at)
      for (const unsigned bit : {0U, 1U, 4U, 6U}) {
        std::string flipped = text.str();
        flipped[at] = static_cast<char>(static_cast<unsigned char>(flipped[at]) ^ (1U << bit));
        try {
          (void)proved_traits(read(flipped));
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
        }
      }
  }
  EXPECT_GE(seeds, 6);
}

/// A folder that is removed after the test.
class WrittenFiles : public testing::Test {
 protected:
  WrittenFiles() { std::filesystem::create_directory(folder); }
  ~WrittenFiles() override { std::filesystem::remove_all(folder); }
  const std::string folder =
      testing::TempDir() + "written_test_" + std::to_string(::getpid()) + "/";
};

TEST_F(WrittenFiles, AreACatalog) {
  const Choice ring = parse_choice(Collective::all_reduce, "ring");
  for (const int size : {3, 4})
    std::ofstream{folder + "ring" + std::to_string(size) + ".json"} << json_of(ring, size, 0);
  const std::string files = "mine=" + folder + "ring3.json,mine=" + folder + "ring4.json";
  const auto loaded = load_catalog(files);
  const Algorithm* const row = loaded->find(Collective::all_reduce, "mine");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->table->all().size(), 2U);
  EXPECT_TRUE(row->traits.rotational);
  EXPECT_THROW((void)load_catalog(folder + "ring3.json"), Failure) << "the name is taken";
  // The file's text would be a name too, but a catalog accepts words only.
  const Choice bruck = parse_choice(Collective::all_gather, "bruck:k=3");
  const std::vector<Schedule> schedules = schedules_of(bruck, 5, 0);
  std::ofstream{folder + "bruck.json"} << json_of(bruck, 5, 0);
  std::ofstream{folder + "bruck.xml"} << to_msccl({.algorithm = "Bruck (k = 3), by XML",
                                                   .collective = Collective::all_gather,
                                                   .schedules = schedules});
  const auto brucks = load_catalog(folder + "bruck.json," + folder + "bruck.xml");
  EXPECT_THROW((void)load_catalog("=" + folder + "bruck.json"), Failure) << "no name";
  for (const char* const name : {"bruck_k_3", "bruck_k_3_by_xml"}) {
    const Algorithm* const found = brucks->find(Collective::all_gather, name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_TRUE(std::ranges::equal(found->table->find({5, 0}), schedules)) << name;
  }
  std::ofstream{folder + "wrong.json"}
      << changed(R"("rank":1,"rounds":[[)", R"("rank":1,"rounds":[],"x":[[)");
  for (const char* const file : {"wrong.json", "no.json", "no.so", "a.txt"})
    EXPECT_THROW((void)load_catalog(folder + file), Failure) << file;
  try {
    (void)load_catalog(folder + "wrong.json");
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::wrong_data) << failure.what();
  }
}

}  // namespace
}  // namespace tutti::perf
