// Reads schedules that `tutti show --format json` writes.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <tutti/error.hpp>

#include "base/json_text.hpp"
#include "schedules/written.hpp"

namespace tutti::v0 {

using namespace written;  // NOLINT(google-build-using-namespace): the readers of parts

namespace {

using Json = nlohmann::json;

const Json& field(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key))
    reject_written(fmt::format("there is no \"{}\"", key));
  return object[key];
}
std::int64_t number(const Json& object, const char* key) {
  const Json& value = field(object, key);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMost)
    reject_written(fmt::format("\"{}\" is not a valid number", key));
  return value.get<std::int64_t>();
}
const std::string& word(const Json& object, const char* key) {
  const Json& value = field(object, key);
  if (!value.is_string()) reject_written(fmt::format("\"{}\" is not a text", key));
  return value.get_ref<const std::string&>();
}
bool flag(const Json& object, const char* key) {
  const Json& value = field(object, key);
  if (!value.is_boolean()) reject_written(fmt::format("\"{}\" is neither true nor false", key));
  return value.get<bool>();
}
const Json::array_t& array(const Json& value, const char* what) {
  if (!value.is_array()) reject_written(fmt::format("{} is not an array", what));
  return value.get_ref<const Json::array_t&>();
}

Step read_step(const Json& json, const WrittenShape& shape) {
  WrittenStep step{.kind = word(json, "step"),
                   .space = word(json, "space"),
                   .first = number(json, "first"),
                   .count = number(json, "count")};
  if (json.contains("peer")) step.peer = number(json, "peer");
  if (json.contains("side")) step.side = word(json, "side");
  if (json.contains("from_space")) step.from_space = word(json, "from_space");
  if (json.contains("from_first")) step.from_first = number(json, "from_first");
  return step_of(step, shape);
}

Schedule read_rank(const Json& json, const WrittenShape& shape, std::size_t rank) {
  if (number(json, "rank") != static_cast<std::int64_t>(rank))
    reject_written(
        fmt::format("the schedules must be those of all ranks, in order; that of rank {} is not "
                    "in its place",
                    rank));
  Schedule schedule{static_cast<std::uint32_t>(shape.units),
                    static_cast<std::uint32_t>(shape.planes),
                    json.contains("paced") && flag(json, "paced")};
  const Json::array_t& rounds = array(field(json, "rounds"), "\"rounds\"");
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    const Json::array_t& steps = array(rounds[round], "a round");
    bool is_empty = true;
    if (steps.empty()) reject_written(fmt::format("round {} of rank {} is empty", round + 1, rank));
    for (const Json& step : steps) try {
        const Step read = read_step(step, shape);
        if (is_own_copy(read)) continue;
        schedule.add(read);
        is_empty = false;
      } catch (const Error& error) {
        reject_written(fmt::format("rank {}, round {}: {}", rank, round + 1, error.what()));
      }
    if (!is_empty) schedule.end_round();
  }
  return schedule;
}

}  // namespace

WrittenSchedules read_json_schedules(std::string_view text) {
  const Json json = detail::parse_json<Json>(text);
  if (!json.is_object() || !(json.contains("algorithm") || json.contains("ranks")))
    reject_written("it is not a schedule: expected JSON as of tutti show --format json");
  WrittenSchedules written{.name = word(json, "algorithm"),
                           .collective = written_collective(word(json, "collective"))};
  const WrittenShape shape{.size = number(json, "size"),
                           .root = number(json, "root"),
                           .units = number(json, "units"),
                           .planes = number(json, "planes")};
  check(shape);
  written.root = static_cast<Rank>(shape.root);
  const Json::array_t& ranks = array(field(json, "ranks"), "\"ranks\"");
  if (ranks.size() != static_cast<std::size_t>(shape.size))
    reject_written(
        fmt::format("it has schedules of {} ranks, expected {}", ranks.size(), shape.size));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    written.schedules.push_back(read_rank(ranks[rank], shape, rank));
  return written;
}

}  // namespace tutti::v0
