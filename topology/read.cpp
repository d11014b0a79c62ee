#include "read.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include <tutti/error.hpp>

#include "base/json_text.hpp"
#include "components.hpp"
#include "reject_network.hpp"

namespace tutti::v0 {
namespace {

using Json = nlohmann::json;

/// The vertices of a network by name.
class VertexNames {
 public:
  void add(const Json& json, const char* field) {
    if (!json.contains(field)) return;
    if (!json[field].is_array())
      reject_network("\"" + std::string{field} + "\" is not an array of names");
    for (const Json& name : json[field]) {
      if (!name.is_string())
        reject_network("\"" + std::string{field} + "\" has an element that is not a name");
      names_.push_back(name.get<std::string>());
      if (!numbers_.emplace(names_.back(), static_cast<int>(numbers_.size())).second)
        reject_network("there are two vertices '" + names_.back() + "'");
    }
  }
  [[nodiscard]] int find(const Json& link, const char* field, std::size_t index) const {
    const std::string where = "link " + std::to_string(index) + ": \"" + field + "\" ";
    if (!link.is_object() || !link.contains(field) || !link[field].is_string())
      reject_network(where + "is missing, or not a name");
    const int found = find(link[field].get<std::string>());
    if (found < 0)
      reject_network(where + "is '" + link[field].get<std::string>() +
                     "', which is not a host or switch");
    return found;
  }
  /// @return its number, or -1.
  [[nodiscard]] int find(const std::string& name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? -1 : found->second;
  }
  [[nodiscard]] const std::string& of(std::ptrdiff_t number) const {
    return names_[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] std::size_t size() const noexcept { return names_.size(); }
  [[nodiscard]] std::vector<std::string> release() { return std::move(names_); }

 private:
  std::vector<std::string> names_{};
  std::map<std::string, int> numbers_{};
};

double number(const Json& json, const char* field, const std::string& where) {
  const Json& value = json[field];
  if (!value.is_number() || value.get<double>() < 0 || value.get<double>() > 1e9)
    reject_network(where + "\"" + field + "\" is not a number from 0 to 1e9");
  return value.get<double>();
}

LinkSpeed speed_of(const Json& json, LinkSpeed speed, const std::string& where) {
  if (json.contains("latency_ns"))
    speed.latency = std::llround(number(json, "latency_ns", where) * 1e6);
  if (json.contains("per_message_ns"))
    speed.per_message = std::llround(number(json, "per_message_ns", where) * 1e6);
  if (!json.contains("gbit_per_s")) return speed;
  const double rate = number(json, "gbit_per_s", where);
  if (rate <= 0) reject_network(where + "\"gbit_per_s\" is 0: no byte would arrive");
  speed.per_byte = std::llround(8e6 / rate);
  return speed;
}

Level level_of(const Json& json, const VertexNames& names, std::size_t hosts) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string())
    reject_network("\"levels\" has an element without a \"name\"");
  Level level{.name = json["name"].get<std::string>(), .part_of = std::vector<int>(hosts, -1)};
  const std::string where = "level '" + level.name + "': ";
  if (!json.contains("parts") || !json["parts"].is_array())
    reject_network(where + "\"parts\" is not an array of arrays of hosts");
  int part = 0;
  for (const Json& members : json["parts"]) {
    if (!members.is_array()) reject_network(where + "\"parts\" is not an array of arrays of hosts");
    for (const Json& name : members) {
      const int host = name.is_string() ? names.find(name.get<std::string>()) : -1;
      if (host < 0 || host >= static_cast<int>(hosts))
        reject_network(where + detail::text_of_json(name) + " is not a host");
      int& at = level.part_of[static_cast<std::size_t>(host)];
      if (at >= 0) reject_network(where + detail::text_of_json(name) + " is in two parts");
      at = part;
    }
    ++part;
  }
  const auto lost = std::ranges::find(level.part_of, -1);
  if (lost != level.part_of.end())
    reject_network(where + "host '" + names.of(lost - level.part_of.begin()) + "' is in no part");
  return level;
}

TopologyFacts facts_of(const Json& json, const VertexNames& names, std::size_t hosts) {
  TopologyFacts facts;
  if (json.contains("message_ns"))
    facts.endpoints.message = std::llround(number(json, "message_ns", "") * 1e6);
  if (json.contains("reduce_gb_per_s")) {
    const double rate = number(json, "reduce_gb_per_s", "");
    if (rate <= 0) reject_network("\"reduce_gb_per_s\" is 0: no reduction would end");
    facts.endpoints.reduced = std::llround(1e6 / rate);
  }
  if (json.contains("assumed")) {
    if (!json["assumed"].is_string()) reject_network("\"assumed\" is not a text");
    facts.assumed = json["assumed"].get<std::string>();
  }
  if (!json.contains("levels")) return facts;
  if (!json["levels"].is_array()) reject_network("\"levels\" is not an array");
  for (const Json& level : json["levels"]) facts.levels.push_back(level_of(level, names, hosts));
  return facts;
}

}  // namespace

NamedTopology read_json_topology(std::string_view text) {
  const Json json = detail::parse_json<Json>(text);
  if (!json.is_object() || !(json.contains("hosts") || json.contains("links")))
    reject_network("it is not a network: expected an object with \"hosts\" and \"links\"");
  VertexNames names;
  names.add(json, "hosts");
  const std::size_t hosts = names.size();
  names.add(json, "switches");
  if (!json.contains("links") || !json["links"].is_array())
    reject_network("\"links\" is not an array");
  const LinkSpeed speed = speed_of(json, {}, "");
  std::vector<Topology::Link> links;
  const Json::array_t& listed = json["links"].get_ref<const Json::array_t&>();
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const int from = names.find(listed[i], "from", i);
    const int to = names.find(listed[i], "to", i);
    const std::string where = "link " + std::to_string(i) + ": ";
    const double count = listed[i].contains("count") ? number(listed[i], "count", where) : 1;
    if (count < 1 || count > 1024 || count != std::floor(count))
      reject_network(where + "\"count\" is not a whole number from 1 to 1024");
    links.insert(links.end(), static_cast<std::size_t>(count),
                 {from, to, speed_of(listed[i], speed, where)});
    if (links.size() > Topology::kMost) reject_network("there are too many links");
  }
  const std::vector<int> trees = components_of(names.size(), links);
  for (std::size_t i = 1; i < trees.size(); ++i)
    if (trees[i] != trees[0])
      reject_network("no link joins '" + names.of(0) + "' and '" +
                     names.of(static_cast<std::ptrdiff_t>(i)) + "'");
  std::string name = "file";
  if (json.contains("name")) {
    if (!json["name"].is_string()) reject_network("\"name\" is not a text");
    name = json["name"].get<std::string>();
  }
  const auto switches = static_cast<int>(names.size() - hosts);
  TopologyFacts facts = facts_of(json, names, hosts);
  return {Topology{std::move(name), static_cast<int>(hosts), switches, std::move(links),
                   std::move(facts)},
          names.release()};
}

}  // namespace tutti::v0
