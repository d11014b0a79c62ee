#include "links.hpp"

#include <algorithm>
#include <charconv>

namespace tutti::standin {
namespace {

// A number that is all of the text, or less than zero.
int number_of(std::string_view text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : -1;
}

}  // namespace

Links::Links(std::string_view text) : others_{text.empty() ? Link::nvlink : Link::pcie} {
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const std::size_t middle = one.find_first_of("-x");
    if (middle == std::string_view::npos) continue;
    const int a = number_of(one.substr(0, middle));
    const int b = number_of(one.substr(middle + 1));
    if (a >= 0 && b >= 0)
      links_[std::minmax(a, b)] = one[middle] == '-' ? Link::nvlink : Link::none;
  }
}

Link Links::between(int a, int b) const {
  const auto found = links_.find(std::minmax(a, b));
  return found == links_.end() ? others_ : found->second;
}

}  // namespace tutti::standin
