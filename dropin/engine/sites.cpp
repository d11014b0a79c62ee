#include "dropin/engine/sites.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <vector>

#include "dropin/engine/source_lines.hpp"

namespace tutti::dropin {
namespace {

// A program that generates code could have any number of sites.
constexpr std::size_t kMostSites = 1024;
// Debug information may have gigabytes, and the other ranks wait at the end meanwhile.
constexpr std::chrono::seconds kLongestSearch{10};

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);  // npos + 1 is 0
}

const link_map* module_of(const void* address) {
  Dl_info info{};
  void* map = nullptr;
  return dladdr1(address, &info, &map, RTLD_DL_LINKMAP) != 0 ? static_cast<link_map*>(map)
                                                             : nullptr;
}

std::string path_of_program() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  return {path.data(), static_cast<std::size_t>(length < 0 ? 0 : length)};
}

// @param caller a return address: the call lies before it.
Site site_of(const void* caller) {
  static const link_map* const engine = module_of(reinterpret_cast<const void*>(&module_of));
  const void* const call = static_cast<const std::byte*>(caller) - 1;
  const link_map* const module = module_of(call);
  if (module == nullptr) return {};
  const std::string_view name = module->l_name;  // empty for the program itself
  return {.module = name.empty() ? path_of_program() : std::string{name},
          .offset = reinterpret_cast<std::uintptr_t>(call) - module->l_addr,
          .is_program = module != engine && !base_name(name).starts_with("libmpi")};
}

std::string text_of(const Site& site) {
  if (site.module.empty()) return "unknown";
  return std::string{base_name(site.module)} + "+" + hexadecimal(site.offset);
}

}  // namespace

const Site& Sites::find(const void* caller) {
  static const Site unknown{};
  const std::scoped_lock lock{mutex_};
  const auto found = sites_.find(caller);
  if (found != sites_.end()) return found->second;
  if (sites_.size() >= kMostSites) return unknown;
  return sites_.emplace(caller, site_of(caller)).first->second;
}

const Site& Sites::of(const void* caller) {
  const Site& nearest = find(caller);
  if (nearest.is_program) return nearest;
  struct Search {
    Sites& sites;
    const Site* found;
  } search{*this, &nearest};
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* into) {
        auto& [sites, found] = *static_cast<Search*>(into);
        const Site& site = sites.find(reinterpret_cast<const void*>(_Unwind_GetIP(context)));
        if (!site.is_program) return _URC_NO_REASON;
        found = &site;
        return _URC_NORMAL_STOP;
      },
      &search);
  return *search.found;
}

std::map<const Site*, std::string> names_of(std::span<const Site* const> sites) {
  std::map<std::string_view, std::vector<const Site*>> by_module;
  std::map<const Site*, std::string> names;
  for (const Site* const site : sites)
    if (names.try_emplace(site, text_of(*site)).second && !site->module.empty())
      by_module[site->module].push_back(site);
  const auto deadline = std::chrono::steady_clock::now() + kLongestSearch;
  for (const auto& [module, of_module] : by_module) {
    std::vector<std::uintptr_t> offsets;
    for (const Site* const site : of_module) offsets.push_back(site->offset);
    const std::vector<std::string> lines = source_lines(std::string{module}, offsets, deadline);
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (!lines[i].empty()) names[of_module[i]] = lines[i];
  }
  return names;
}

}  // namespace tutti::dropin
