// Reads and writes tuning files.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include <tutti/error.hpp>

#include "base/json_text.hpp"
#include "base/text_file.hpp"
#include "tuning.hpp"

namespace tutti::v0::detail {
namespace {

using TuningJson = nlohmann::ordered_json;

constexpr const char* kFormat = "tutti-tuning";
constexpr int kVersion = 1;
constexpr double kMostBytes = 9e15;  // whole numbers up to it are exact in JSON

[[noreturn]] void reject_tuning(const std::string& what) {
  throw Error{ErrorCode::invalid_argument, what};
}

/// An object of the file, with its place there for errors.
class Field {
 public:
  Field(const TuningJson& json, std::string where) : json_{json}, where_{std::move(where)} {
    if (!json.is_object()) reject_tuning(where_ + ": it is not an object");
  }
  [[nodiscard]] const TuningJson& at(const char* name) const {
    if (!json_.contains(name)) reject(name, "is missing");
    return json_[name];
  }
  [[nodiscard]] std::string text(const char* name) const {
    const TuningJson& value = at(name);
    if (!value.is_string() || value.get<std::string>().empty()) reject(name, "is not a text");
    return value.get<std::string>();
  }
  [[nodiscard]] std::string text_or(const char* name, const std::string& other) const {
    return json_.contains(name) ? text(name) : other;
  }
  [[nodiscard]] double number(const char* name) const {
    const TuningJson& value = at(name);
    const double number = value.is_number() ? value.get<double>() : -1;
    if (!std::isfinite(number) || number < 0 || number > kMostBytes)
      reject(name, "is not a number, or less than 0");
    return number;
  }
  [[nodiscard]] std::size_t whole(const char* name) const {
    const double value = number(name);
    if (value != std::floor(value)) reject(name, "is not a whole number");
    return static_cast<std::size_t>(value);
  }
  [[nodiscard]] int count(const char* name) const {
    const std::size_t value = whole(name);
    if (value < 1 || value > (1U << 20)) reject(name, "is not from 1 to 1048576");
    return static_cast<int>(value);
  }
  [[nodiscard]] bool yes_or_no(const char* name) const {
    const TuningJson& value = at(name);
    if (!value.is_boolean()) reject(name, "is neither true nor false");
    return value.get<bool>();
  }
  /// Calls `use` with each member of an array.
  template <class Use>
  void each(const char* name, Use&& use) const {
    const TuningJson& list = at(name);
    if (!list.is_array()) reject(name, "is not an array");
    for (std::size_t i = 0; i < list.size(); ++i)
      use(Field{list[i], where_ + "/" + name + "/" + std::to_string(i)});
  }
  [[noreturn]] void reject(const char* name, const std::string& what) const {
    reject_tuning(where_ + ": \"" + name + "\" " + what);
  }

 private:
  const TuningJson& json_;
  std::string where_;
};

Collective collective_in(const Field& field) {
  const std::string name = field.text("collective");
  for (int i = 0; i < kCollectives; ++i)
    if (name_of(static_cast<Collective>(i)) == name) return static_cast<Collective>(i);
  field.reject("collective", "is '" + name + "', which does not exist");
}

bool is_visible(const Field& field) {
  const std::string buffers = field.text("buffers");
  if (buffers != "private" && buffers != "visible")
    field.reject("buffers", "is '" + buffers + "'; expected private or visible");
  return buffers == "visible";
}

TunedTable table_in(const Field& field) {
  TunedTable table{.place = {.collective = collective_in(field),
                             .ranks = field.count("ranks"),
                             .hosts = field.count("hosts"),
                             .transport = field.text("transport"),
                             .visible = is_visible(field)}};
  field.each("rules", [&](const Field& rule) {
    const std::size_t from = rule.whole("from_bytes");
    if (table.rules.empty() ? from != 0 : from <= table.rules.back().from_bytes)
      rule.reject("from_bytes", "does not rise from 0");
    table.rules.push_back({from, rule.text("algorithm"), rule.whole("segment_bytes")});
  });
  field.each("cells", [&](const Field& cell) {
    table.cells.push_back({cell.whole("bytes"), cell.text("algorithm"), cell.whole("segment_bytes"),
                           cell.number("median_us"), cell.number("low_us"), cell.number("high_us"),
                           cell.text_or("align", TunedCell{}.align),
                           cell.text_or("pattern", TunedCell{}.pattern)});
  });
  return table;
}

/// A cost, in the file and in LinkCosts.
struct CostField {
  const char* name;
  Femtoseconds LinkCosts::*member;
  double unit;  // in femtoseconds
};
constexpr CostField kCostFields[]{{"message_us", &LinkCosts::alpha, 1e9},
                                  {"round_us", &LinkCosts::round, 1e9},
                                  {"byte_ns", &LinkCosts::beta, 1e6},
                                  {"reduced_byte_ns", &LinkCosts::gamma, 1e6},
                                  {"read_and_reduced_byte_ns", &LinkCosts::gamma_read, 1e6}};

TunedCosts costs_in(const Field& field) {
  constexpr double kMostCost = 1e15;  // a second
  TunedCosts costs{.ranks = field.count("ranks"),
                   .hosts = field.count("hosts"),
                   .transport = field.text("transport"),
                   .visible = is_visible(field),
                   .cells = field.whole("cells"),
                   .loss = field.number("loss"),
                   .median_error = field.number("median_error")};
  for (const CostField& cost : kCostFields) {
    const double value = field.number(cost.name) * cost.unit;
    if (value > kMostCost) field.reject(cost.name, "is more than a second");
    costs.costs.*cost.member = std::llround(value);
  }
  costs.costs.shared_cores =
      static_cast<int>(std::min<std::size_t>(field.whole("shared_cores"), 1U << 20));
  costs.costs.buffered_bytes = static_cast<std::int64_t>(field.whole("buffered_bytes"));
  costs.costs.overlaps = field.yes_or_no("overlaps");
  costs.costs.half_duplex = field.yes_or_no("half_duplex");
  costs.costs.fuses = field.yes_or_no("fuses");
  return costs;
}

double to_millionths(double value) {
  return std::round(value * 1e6) / 1e6;
}

TuningJson json_of(const TunedCosts& costs) {
  TuningJson json{{"ranks", costs.ranks},
                  {"hosts", costs.hosts},
                  {"transport", costs.transport},
                  {"buffers", costs.visible ? "visible" : "private"}};
  for (const CostField& cost : kCostFields)
    json[cost.name] = to_millionths(static_cast<double>(costs.costs.*cost.member) / cost.unit);
  json["shared_cores"] = costs.costs.shared_cores;
  json["buffered_bytes"] = costs.costs.buffered_bytes;
  json["overlaps"] = costs.costs.overlaps;
  json["half_duplex"] = costs.costs.half_duplex;
  json["fuses"] = costs.costs.fuses;
  json["cells"] = costs.cells;
  json["loss"] = std::round(costs.loss * 1000) / 1000;
  json["median_error"] = std::round(costs.median_error * 1000) / 1000;
  return json;
}

TuningJson json_of(const TunedTable& table) {
  const TunedPlace& place = table.place;
  TuningJson json{{"collective", name_of(place.collective)},
                  {"ranks", place.ranks},
                  {"hosts", place.hosts},
                  {"transport", place.transport},
                  {"buffers", place.visible ? "visible" : "private"},
                  {"rules", TuningJson::array()},
                  {"cells", TuningJson::array()}};
  for (const TunedRule& rule : table.rules)
    json["rules"].push_back({{"from_bytes", rule.from_bytes},
                             {"algorithm", rule.algorithm},
                             {"segment_bytes", rule.segment_bytes}});
  for (const TunedCell& cell : table.cells)
    json["cells"].push_back({{"bytes", cell.bytes},
                             {"algorithm", cell.algorithm},
                             {"segment_bytes", cell.segment_bytes},
                             {"median_us", cell.median_us},
                             {"low_us", cell.low_us},
                             {"high_us", cell.high_us},
                             {"align", cell.align},
                             {"pattern", cell.pattern}});
  return json;
}

/// Writes an object without nested values on one line.
void write(std::string& text, const TuningJson& json, const std::string& indent) {
  const auto is_nested = [](const TuningJson& value) { return value.is_structured(); };
  if (!json.is_structured() || !std::any_of(json.begin(), json.end(), is_nested)) {
    text += text_of_json(json);
    return;
  }
  const bool is_object = json.is_object();
  text += is_object ? "{" : "[";
  std::string separator = "\n" + indent + " ";
  for (auto item = json.begin(); item != json.end(); ++item) {
    text += separator;
    if (is_object) text += text_of_json(TuningJson(item.key())) + ": ";
    write(text, *item, indent + " ");
    separator = ",\n" + indent + " ";
  }
  text += "\n" + indent + (is_object ? "}" : "]");
}

}  // namespace

bool has_tuning_files() noexcept {
  return true;
}

Tuning tuning_of(std::string_view text) {
  const auto json = parse_json<TuningJson>(text);
  if (!json.is_object() || !json.contains("format"))
    reject_tuning("it is not a tuning file: expected a file of tutti tune");
  const Field file{json, ""};
  if (file.text("format") != kFormat) file.reject("format", "is not " + std::string{kFormat});
  if (file.whole("version") != kVersion)
    file.reject("version", "is not " + std::to_string(kVersion) + ": measure again");
  const Field machine{file.at("machine"), "/machine"};
  Tuning tuning{.version = json.contains("tutti") ? file.text("tutti") : std::string{},
                .machine = {machine.text("processor"), machine.count("cores")}};
  file.each("costs", [&](const Field& field) { tuning.costs.push_back(costs_in(field)); });
  file.each("tables", [&](const Field& field) {
    TunedTable table = table_in(field);
    for (const TunedTable& other : tuning.tables)
      if (other.place == table.place)
        field.reject("collective", "has a second table for this place");
    tuning.tables.push_back(std::move(table));
  });
  return tuning;
}

std::string text_of(const Tuning& tuning) {
  TuningJson json{{"format", kFormat}, {"version", kVersion}};
  if (!tuning.version.empty()) json["tutti"] = tuning.version;
  json["machine"] = {{"processor", tuning.machine.processor}, {"cores", tuning.machine.cores}};
  json["costs"] = TuningJson::array();
  json["tables"] = TuningJson::array();
  for (const TunedCosts& costs : tuning.costs) json["costs"].push_back(json_of(costs));
  for (const TunedTable& table : tuning.tables) json["tables"].push_back(json_of(table));
  std::string text;
  write(text, json, "");
  return text + "\n";
}

Tuning read_tuning(const std::string& path) {
  const std::string text = read_text_file(path);
  try {
    Tuning tuning = tuning_of(text);
    tuning.origin = path;
    return tuning;
  } catch (const Error& error) {
    reject_tuning(path + ": " + error.what());
  }
}

}  // namespace tutti::v0::detail
