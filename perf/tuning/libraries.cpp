#include "perf/tuning/libraries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/json_text.hpp"
#include "perf/build.hpp"
#include "perf/command_line.hpp"
#include "perf/failure.hpp"

namespace tutti::perf {

namespace {

using Json = nlohmann::ordered_json;

const Json kNone = Json::object();

const Json& member(const Json& object, const char* name) {
  return object.contains(name) ? object.at(name) : kNone;
}

// Adds the members of another object that an object lacks.
void complete(Json& object, const Json& other) {
  for (const auto& [name, value] : other.items())
    if (!object.contains(name)) object[name] = value;
    else if (value.is_object()) complete(object[name], value);
}

Conditions conditions_of(const Json& object) {
  Conditions all;
  for (const auto& [condition, runs] : object.items())
    all.emplace_back(condition, runs.get<std::string>());
  return all;
}

Counterpart read_counterpart(Collective collective, const std::string& ours, const Json& theirs) {
  const std::size_t end = std::min(ours.find(':'), ours.size());
  return {.collective = collective,
          .ours = ours.substr(0, end),
          .parameters = ours.substr(std::min(end + 1, ours.size())),
          .theirs = theirs.at("theirs"),
          .number = theirs.value("number", 0),
          .has_segments = theirs.value("segments", false),
          .instead = conditions_of(member(theirs, "instead"))};
}

template <class Value>
void require_entry(const std::map<Collective, Value>& entries, Collective collective,
                   const char* name) {
  if (!entries.contains(collective))
    throw std::runtime_error{fmt::format("'{}' lacks {}", name, name_of(collective))};
}

Library read_library(const Json& row) {
  Library library{.writer = row.at("writer"), .leaves_sizes = row.value("leaves_sizes", true)};
  for (const auto& [name, algorithms] : member(row, "algorithms").items())
    for (const auto& [ours, theirs] : algorithms.items())
      library.counterparts.push_back(read_counterpart(collective_named(name), ours, theirs));
  for (const auto& [name, theirs] : member(row, "calls").items())
    library.calls[collective_named(name)] = theirs;
  for (const auto& [name, number] : member(row, "numbers").items())
    library.numbers[collective_named(name)] = number;
  for (const auto& [name, conditions] : member(row, "untuned").items())
    library.untuned.emplace_back(name, conditions_of(conditions));
  for (const auto& [_, name] : member(row, "without_sizes").items())
    library.without_sizes.push_back(collective_named(name));
  for (const Counterpart& one : library.counterparts) {
    require_entry(library.calls, one.collective, "calls");
    if (library.writer == "openmpi") require_entry(library.numbers, one.collective, "numbers");
  }
  return library;
}

// The row with the members of those that it is like.
Json completed_row(const Json& file, const std::string& name) {
  const Json& rows = file.at("libraries");
  Json row = rows.at(name);
  for (std::size_t i = 0; row.contains("like") && i < rows.size(); ++i) {
    const std::string like = row.at("like");
    row.erase("like");
    complete(row, rows.at(like));
  }
  complete(row, {{"calls", file.at("calls")}});
  return row;
}

}  // namespace

Library library_named(const std::string& name) {
  const std::string path = shared_file(kLibraries);
  const std::string text = detail::read_text_file(path);
  std::vector<std::string> names;
  try {
    const Json file = detail::parse_json<Json>(text);
    for (const auto& [known, _] : file.at("libraries").items()) names.push_back(known);
    if (file.at("libraries").contains(name)) return read_library(completed_row(file, name));
  } catch (const std::exception& error) {
    const std::string_view why = error.what();  // the parser's own texts begin with "[its code] "
    const std::size_t code = why.starts_with("[json") ? why.find("] ") + 2 : 0;
    throw Failure{ExitCode::environment, fmt::format("{}: {}", path, why.substr(code))};
  }
  reject_word("format", name, names);
}

}  // namespace tutti::perf
