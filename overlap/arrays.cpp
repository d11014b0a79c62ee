#include "arrays.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include <tutti/byte_count.hpp>

namespace tutti::v0::detail {
namespace {

[[noreturn]] void reject_array(std::string_view caller, const std::string& text) {
  throw Error{ErrorCode::invalid_argument, std::string{caller} + ": " + text};
}

/// An array of a list, or its result, as a range of addresses.
struct ArrayRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::size_t index = 0;  // in the list
  bool is_result = false;
};

void add_range(std::vector<ArrayRange>& ranges, const Parameter& array, std::size_t index,
               bool is_result) {
  const auto begin =
      reinterpret_cast<std::uintptr_t>(is_result ? array.result : std::as_const(array.data));
  if (begin == 0 || array.count == 0) return;
  ranges.push_back({begin, begin + array.count * size_of(array.type), index, is_result});
}

/// @return the earlier array to which this one is tied.
std::size_t owner_of(std::string_view caller, std::span<const Parameter> arrays, std::size_t index,
                     const std::map<const void*, std::size_t>& first_at) {
  const Parameter& array = arrays[index];
  const auto found = first_at.find(array.data);
  if (array.data == nullptr || found == first_at.end())
    reject_array(caller, name_of_array(array, index) +
                             " is tied, but no array before it in the list lies at its address");
  const Parameter& owner = arrays[found->second];
  if (owner.count != array.count || owner.type != array.type || owner.group != array.group ||
      (array.result != nullptr && array.result != owner.result))
    reject_array(caller, name_of_array(array, index) + " is tied to " +
                             name_of_array(owner, found->second) +
                             ", so that both need the same count, type, group and result");
  return found->second;
}

std::vector<std::size_t> find_owners(std::string_view caller, std::span<const Parameter> arrays) {
  std::vector<std::size_t> owners(arrays.size());
  std::map<const void*, std::size_t> first_at;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    owners[i] = arrays[i].tied ? owner_of(caller, arrays, i, first_at) : i;
    if (!arrays[i].tied) first_at.emplace(arrays[i].data, i);
  }
  return owners;
}

std::string words_of(std::span<const Parameter> arrays, const ArrayRange& range) {
  return (range.is_result ? "the result of " : "") +
         name_of_array(arrays[range.index], range.index);
}

/// @return the first two arrays of the list that overlap, so that ranks with the same mistake
/// report the same text.
std::optional<std::pair<ArrayRange, ArrayRange>> first_overlap(std::vector<ArrayRange> ranges) {
  std::ranges::sort(ranges, [](const ArrayRange& left, const ArrayRange& right) {
    return std::pair{left.begin, left.index} < std::pair{right.begin, right.index};
  });
  const auto order = [](const ArrayRange& range) {
    return std::pair{range.index, range.is_result};
  };
  std::optional<std::pair<ArrayRange, ArrayRange>> first;
  for (std::size_t i = 0, farthest = 0; i < ranges.size(); ++i) {
    if (i > 0 && ranges[i].begin < ranges[farthest].end) {
      std::pair both{ranges[farthest], ranges[i]};
      if (order(both.second) < order(both.first)) std::swap(both.first, both.second);
      if (!first || order(both.second) < order(first->second)) first = both;
    }
    if (ranges[i].end > ranges[farthest].end) farthest = i;
  }
  return first;
}

}  // namespace

std::string name_of_array(const Parameter& array, std::size_t index) {
  return "parameter " + std::to_string(index) + " '" + array.name + "'";
}

void check_sizes(std::string_view caller, std::span<const Parameter> arrays, bool has_data) {
  std::size_t left = most_elements(1);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Parameter& array = arrays[i];
    const std::string name = name_of_array(array, i);
    const std::size_t element_bytes = size_of(array.type);
    if (element_bytes == 0)
      reject_array(caller, name + " is of datatype " + std::string{name_of(array.type)} +
                               ", whose size is not known; expected one of numbers");
    const std::optional<std::size_t> bytes = byte_count(array.count, element_bytes);
    if (!bytes)
      reject_array(caller, name + " has " + std::to_string(array.count) + " elements of " +
                               std::to_string(element_bytes) +
                               " bytes, which are too many to be addressed in memory");
    if (*bytes > left)
      reject_array(caller, "all arrays up to " + name +
                               " together have too many bytes to be addressed in memory");
    left -= *bytes;
    if (has_data && array.data == nullptr && array.count > 0)
      reject_array(caller, name + " has no data");
  }
}

std::vector<std::size_t> check_apart(std::string_view caller, std::span<const Parameter> arrays,
                                     bool with_results) {
  std::vector<std::size_t> owners = find_owners(caller, arrays);
  std::vector<ArrayRange> ranges;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].tied) continue;
    add_range(ranges, arrays[i], i, false);
    if (with_results && arrays[i].result != arrays[i].data) add_range(ranges, arrays[i], i, true);
  }
  const auto both = first_overlap(std::move(ranges));
  if (!both) return owners;
  const auto& [left, right] = *both;
  const bool is_same = left.begin == right.begin && left.end == right.end;
  reject_array(caller, words_of(arrays, left) + " and " + words_of(arrays, right) +
                           (is_same ? " are one array" : " overlap in memory") +
                           "; expected arrays that do not overlap" +
                           (is_same ? ", or Parameter::tied for the second one, where they are one "
                                      "parameter with two names"
                                    : ""));
}

std::vector<std::size_t> owners_of(std::span<const Parameter> arrays) {
  return find_owners("arrays", arrays);
}

std::vector<Parameter> without_tied(std::span<const Parameter> arrays) {
  std::vector<Parameter> own;
  std::ranges::copy_if(arrays, std::back_inserter(own),
                       [](const Parameter& array) { return !array.tied; });
  return own;
}

}  // namespace tutti::v0::detail
