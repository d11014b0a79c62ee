/// @file
/// How the devices are joined.
#pragma once

#include <map>
#include <string_view>
#include <utility>

namespace tutti::standin {

enum class Link { none, pcie, nvlink };

class Links {
 public:
  /// @param text such as "0-1,2-3,0x2": 0 and 1 are joined by NVLink, 2 and 3 as well, 0 and 2 by
  /// nothing, and all others by PCIe. Empty: NVLink joins all. Other texts are
  /// ignored.
  explicit Links(std::string_view text);

  /// @return what joins two devices.
  Link between(int a, int b) const;

 private:
  Link others_;
  std::map<std::pair<int, int>, Link> links_;
};

}  // namespace tutti::standin
