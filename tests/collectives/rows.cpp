#include "tests/collectives/rows.hpp"

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>

#include "proof/verify_row.hpp"

namespace tutti::harness {
namespace {

/// The row's name by itself, and with other values of its parameter.
std::vector<std::string> choices_of(const Algorithm& row, int size) {
  std::vector<std::string> choices{std::string{row.name}};
  if (!has_default(row.parameter)) {
    // In turn: at all sizes together each network and grouping is met.
    const std::vector<Choice> all = verified_choices(row, size, 1);
    choices.clear();
    for (std::size_t index = static_cast<std::size_t>(size) % 3; index < all.size(); index += 3)
      choices.push_back(all[index].text());
    if (choices.empty()) choices.push_back(all.front().text());
    return choices;
  }
  if (row.parameter == AlgorithmParameter::radix)
    for (const char* const radix : {"k=2", "k=3", "k=5"})
      choices.push_back(choices[0] + ":" + radix);
  if (row.parameter == AlgorithmParameter::blocks) choices.push_back(choices[0] + ":b=3");
  if (row.parameter == AlgorithmParameter::servers) choices.push_back(choices[0] + ":s=3");
  if (row.parameter == AlgorithmParameter::in_flight) choices.push_back(choices[0] + ":k=2");
  if (row.parameter == AlgorithmParameter::aggregation) choices.push_back(choices[0] + ":a=1");
  if (row.parameter == AlgorithmParameter::skips && size >= 3) {
    std::string all = choices[0] + ":skips=" + std::to_string(size - 1);
    for (int skip = size - 2; skip >= 1; --skip) all += "+" + std::to_string(skip);
    choices.push_back(all);
  }
  return choices;
}

/// Segments of 64 bytes cut this number of elements of any type, and the cases take little time.
constexpr std::size_t kCut = 1000;

std::vector<std::size_t> counts_of(int size) {
  const auto n = static_cast<std::size_t>(size);
  std::vector<std::size_t> counts{0, 1, n - 1, n, n + 1, kCut, 65537};
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

/// Sixteen segments for long vectors; 64 bytes for short ones.
std::size_t small_segment(std::size_t bytes) {
  return std::max<std::size_t>(64, bytes / 16);
}

/// Twice as many where all segments are to be met, with what the next count adds; where nothing
/// moves half as many.
std::size_t variants_at(std::size_t count, std::size_t variants) {
  if (count == 0) return variants / 2;
  return count == kCut ? std::max<std::size_t>(variants, 4) : variants;
}

Model model_for(const Row& row, std::size_t index) {
  if (!is_reduction(row.collective) && index % 4 == 0) return opaque_model(index % 3 * 2 + 1);
  return model_at(row.collective, index);
}

}  // namespace

std::vector<Row> rows_of(const std::vector<int>& sizes) {
  std::vector<Row> rows{};
  const Traits all{.ordered = When::always, .own_counts_only = true};
  for (int collective = 0; collective < kCollectives; ++collective)
    for (const int size : sizes)
      rows.push_back({static_cast<Collective>(collective), "", size, rows.size(), all});
  for (const Algorithm& algorithm : catalog())
    for (const int size : sizes)
      if (admits(algorithm.traits.sizes, size))
        for (const std::string& choice : choices_of(algorithm, size))
          rows.push_back({algorithm.collective, choice, size, rows.size(), algorithm.traits});
  return rows;
}

std::string name_of_row(const ::testing::TestParamInfo<Row>& info) {
  const Row& row = info.param;
  std::string name = std::string{name_of(row.collective)} + "_" +
                     (row.algorithm.empty() ? "auto" : row.algorithm) + "_n" +
                     std::to_string(row.size);
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

void PrintTo(const Row& row, std::ostream* stream) {
  *stream << name_of(row.collective) << " '" << row.algorithm << "' on " << row.size << " ranks";
}

std::vector<Case> cases_of(const Row& row, std::size_t variants) {
  std::vector<Case> cases{};
  const std::size_t blocks = blocks_of(row.collective, row.size);
  const std::vector<std::size_t> counts = counts_of(row.size);
  std::size_t turn = row.ordinal;  // Segments alternate, so that each is met in place and not.
  for (std::size_t c = 0; c < counts.size(); ++c) {
    for (std::size_t v = 0; v < variants_at(counts[c], variants); ++v) {
      const std::size_t index = (row.ordinal * counts.size() + c) * variants + v;
      const bool equal = (row.ordinal + c + v / 2) % 2 == 0;
      const std::size_t total = equal ? (counts[c] + blocks - 1) / blocks * blocks : counts[c];
      Case one{.collective = row.collective,
               .algorithm = row.algorithm,
               .size = row.size,
               .counts = cut(total, blocks),
               .root = static_cast<Rank>((index / 2) % static_cast<std::size_t>(row.size)),
               .in_place = (row.ordinal + v) % 2 == 1,
               .model = model_for(row, index),
               .salt = v};
      const std::size_t segments[] = {Options::kWhole,
                                      small_segment(total * one.model.element_bytes), 0};
      one.segment = segments[turn % 3];
      turn += v % 2;
      cases.push_back(std::move(one));
    }
  }
  return cases;
}

Task task_of(Communicator& communicator, Experiment& experiment) {
  const auto request = std::make_shared<std::optional<Request>>();
  const Rank rank = communicator.rank();
  return {.rank = rank, .test = [request, rank, &communicator, &experiment] {
            if (!*request)
              *request = communicator.async().run(experiment.call(rank), experiment.options());
            return (*request)->test();
          }};
}

std::string run(World& world, Experiment& experiment) {
  std::vector<Task> tasks{};
  for (Rank rank = 0; rank < world.size(); ++rank)
    tasks.push_back(task_of(world[rank], experiment));
  const std::string what = experiment.what().describe();
  const bool ended = world.drive(tasks);
  for (const Task& task : tasks)
    if (task.error)
      return what + ": rank " + std::to_string(task.rank) + " threw: " + task.error->what();
  if (!ended) return what + ": nothing moves any more";
  for (Rank rank = 0; rank < world.size(); ++rank)
    if (const auto problem = experiment.problem(rank)) return what + ": " + *problem;
  return {};
}

void expect_success(World& world, std::vector<Task>& tasks) {
  ASSERT_TRUE(world.drive(tasks)) << "a rank hangs";
  for (const Task& task : tasks)
    ASSERT_FALSE(task.error) << "rank " << task.rank << ": " << task.error->what();
}

}  // namespace tutti::harness
