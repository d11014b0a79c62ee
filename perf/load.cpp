#include "perf/load.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <tutti/error.hpp>

#include "perf/command_line.hpp"
#include "perf/msccl.hpp"
#include "perf/sweep_failure.hpp"
#include "perf/written.hpp"

namespace tutti::perf {
namespace {

/// Larger than the schedules of thousands of ranks.
constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 28U;

[[noreturn]] void refuse(const std::string& file, const std::string& message) {
  throw Failure{ExitCode::usage, fmt::format("--load {}: {}", file, message)};
}

std::string text_of(const std::string& file) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);
  if (error) refuse(file, error.message());
  if (bytes > kMostBytes) refuse(file, fmt::format("{} bytes are too many", bytes));
  std::ostringstream text;
  text << std::ifstream{file, std::ios::binary}.rdbuf();
  return text.str();
}

/// Calls what a module defines. The module stays, since its functions are the algorithms.
void add_module(Catalog& catalog, const std::string& file) {
  void* const module = dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) refuse(file, dlerror());
  const auto add = reinterpret_cast<AddAlgorithms>(dlsym(module, kAddAlgorithms));
  if (add == nullptr) refuse(file, fmt::format("it does not define {}", kAddAlgorithms));
  try {
    add(catalog);
  } catch (const Error& error) {
    refuse(file, error.what());
  }
}

/// The weaker of what two tables have.
Traits both(const Traits& a, const Traits& b) {
  return {.ordered = std::min(a.ordered, b.ordered),
          .rank_identical = std::min(a.rank_identical, b.rank_identical),
          .size_invariant = std::min(a.size_invariant, b.size_invariant),
          .rotational = a.rotational && b.rotational,
          .own_counts_only = a.own_counts_only && b.own_counts_only};
}

/// Tables by what they are of, until all files have been read.
class Tables {
 public:
  void add(const std::string& file, Written written) {
    Traits traits;
    try {
      traits = proved_traits(written);
    } catch (const Error& error) {
      throw Failure{ExitCode::wrong_data, fmt::format("--load {}: {}", file, error.what())};
    }
    Entry& entry = entries_[{written.collective, written.name}];
    entry.traits = entry.files.empty() ? traits : both(entry.traits, traits);
    entry.files += (entry.files.empty() ? "" : ", ") + file;
    entry.table.add(written.root, std::move(written.schedules));
  }
  void move_to(Catalog& catalog) {
    for (auto& [key, entry] : entries_) try {
        const std::string summary = "written down in " + entry.files;
        catalog.add({.collective = key.first,
                     .name = key.second,
                     .traits = entry.traits,
                     .summary = summary},
                    std::move(entry.table));
      } catch (const Error& error) {
        refuse(entry.files, fmt::format("{}: write NAME=FILE", error.what()));
      }
  }

 private:
  struct Entry {
    ScheduleTable table{};
    Traits traits{};
    std::string files{};
  };
  std::map<std::pair<Collective, std::string>, Entry> entries_{};
};

}  // namespace

std::shared_ptr<const Catalog> load_catalog(const std::string& files) {
  auto catalog = std::make_shared<Catalog>();
  if (files.empty()) return catalog;
  Tables tables;
  for (const std::string& word : split(files, ',')) {
    const std::size_t equals = word.find('=');
    const std::string file = word.substr(equals == word.npos ? 0 : equals + 1);
    const std::string kind = std::filesystem::path{file}.extension();
    if (kind == ".so") {
      add_module(*catalog, file);
      continue;
    }
    if (kind != ".json" && kind != ".xml")
      refuse(file, "expected a name that ends in .json, .xml or .so");
    Written written;
    try {
      written = kind == ".json" ? from_json(text_of(file)) : from_msccl(text_of(file));
    } catch (const Error& error) {
      refuse(file, error.what());
    }
    if (equals != word.npos) written.name = word.substr(0, equals);
    tables.add(file, std::move(written));
  }
  tables.move_to(*catalog);
  return catalog;
}

}  // namespace tutti::perf
