#include "perf/load.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>

#include <tutti/error.hpp>
#include <tutti/spi/catalog.hpp>
#include <tutti/spi/schedule_file.hpp>

#include "base/text_file.hpp"
#include "perf/command_line.hpp"
#include "perf/failure.hpp"

namespace tutti::perf {
namespace {

[[noreturn]] void reject(const std::string& file, const std::string& message) {
  throw Failure{ExitCode::usage, fmt::format("--load {}: {}", file, message)};
}

std::string text_of(const std::string& file) try {
  return detail::read_text_file(file);
} catch (const Error& error) {
  throw Failure{ExitCode::usage, fmt::format("--load {}", error.what())};
}

/// Calls a module's function that adds its algorithms. The module stays loaded, since it contains
/// their code.
void add_module(Catalog& catalog, const std::string& file) {
  void* const module = dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) reject(file, dlerror());
  const auto add = reinterpret_cast<AddAlgorithms>(dlsym(module, kAddAlgorithms));
  if (add == nullptr) reject(file, fmt::format("it does not define {}", kAddAlgorithms));
  try {
    add(catalog);
  } catch (const Error& error) {
    reject(file, error.what());
  }
}

/// Reads a file and proves its schedules. @param name replaces the one in the file, unless empty.
void add_schedules(WrittenAlgorithms& algorithms, const std::string& file,
                   const std::optional<std::string>& name) {
  const std::string text = text_of(file);
  const std::string kind = std::filesystem::path{file}.extension();
  if (kind != ".json" && kind != ".xml")
    reject(file, "expected a name that ends in .json, .xml or .so");
  WrittenSchedules written;
  try {
    written = kind == ".json" ? read_json_schedules(text) : read_msccl_schedules(text);
  } catch (const Error& error) {
    reject(file, error.what());
  }
  if (name) written.name = *name;
  try {
    algorithms.add(std::move(written), file);
  } catch (const Error& error) {
    throw Failure{ExitCode::wrong_data, fmt::format("--load {}: {}", file, error.what())};
  }
}

}  // namespace

std::shared_ptr<const Catalog> load_catalog(const std::string& files) {
  auto catalog = std::make_shared<Catalog>();
  if (files.empty()) return catalog;
  WrittenAlgorithms algorithms;
  for (const std::string& word : split(files, ',')) {
    const std::size_t equals = word.find('=');
    const bool is_named = equals != word.npos;
    const std::string file = word.substr(is_named ? equals + 1 : 0);
    if (std::filesystem::path{file}.extension() == ".so") add_module(*catalog, file);
    else
      add_schedules(algorithms, file,
                    is_named ? std::optional{word.substr(0, equals)} : std::nullopt);
  }
  try {
    algorithms.add_to(*catalog);
  } catch (const Error& error) {
    throw Failure{ExitCode::usage, fmt::format("--load {}: write NAME=FILE", error.what())};
  }
  return catalog;
}

}  // namespace tutti::perf
