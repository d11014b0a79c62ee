#include "perf/sweep/familiar.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace tutti::perf {

namespace {

using Names = std::pair<std::string_view, std::string_view>;  // theirs, ours
constexpr std::array<Names, 5> kNames{
    {{"float", "f32"}, {"double", "f64"}, {"half", "f16"}, {"avg", "average"}, {"int", "i32"}}};
// A prefix stands before a size.
constexpr std::array<Names, 3> kPrefixes{{{"bfloat", "bf"}, {"int", "i"}, {"uint", "u"}}};

}  // namespace

std::string ours_of(const std::string& word) {
  for (const auto& [theirs, ours] : kNames)
    if (word == theirs) return std::string{ours};
  for (const auto& [theirs, ours] : kPrefixes)
    if (word.starts_with(theirs)) return std::string{ours} + word.substr(theirs.size());
  return word;
}

std::string theirs_of(const std::string& word) {
  for (const auto& [theirs, ours] : kNames)
    if (word == ours && theirs != "int") return std::string{theirs};  // nccl-tests prints int32
  for (const auto& [theirs, ours] : kPrefixes) {
    const std::string size = word.substr(word.starts_with(ours) ? ours.size() : word.size());
    if (!size.empty() && size.find_first_not_of("0123456789") == std::string::npos)
      return std::string{theirs} + size;
  }
  return word;
}

}  // namespace tutti::perf
