#include "runtime/channel_rules.hpp"

#include "runtime/roll_call.hpp"

namespace tutti::runtime {

Error missing_error(const std::string& where, const std::vector<Rank>& missing, int size) {
  expects(!missing.empty(), "a roll call without anybody missing");
  return {ErrorCode::timeout,
          "the world of " + std::to_string(size) + " ranks did not come together over " + where +
              ": " + ranks_text(missing) + " did not come by the deadline",
          missing.front()};
}

void check_text(std::string_view own) {
  constexpr std::size_t kLongest = 64U << 10U;
  if (own.size() > kLongest)
    throw Error{ErrorCode::invalid_argument, "a text of " + std::to_string(own.size()) +
                                                 " bytes does not fit: a channel carries " +
                                                 std::to_string(kLongest)};
}

void check_place(Rank rank, int size) {
  expects(size >= 1 && rank >= 0 && rank < size, "a channel for a rank that is not in its world");
}

}  // namespace tutti::runtime
