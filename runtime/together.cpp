#include "together.hpp"

#include <cstdint>
#include <optional>

#include "fields.hpp"

namespace tutti::runtime {

std::vector<std::string> do_together(Channel& channel, Deadline deadline,
                                     const std::function<std::string()>& part) {
  std::string own;
  try {
    const std::string said = part();
    put(own, std::uint8_t{1});
    own += said;
  } catch (const Error& error) {
    own.clear();
    put(own, std::uint8_t{0});
    put_error(own, error);
  } catch (const std::exception& error) {  // the others must not wait for this rank
    own.clear();
    put(own, std::uint8_t{0});
    put_error(own, {ErrorCode::transport, std::string{"starting failed: "} + error.what()});
  }
  auto all = channel.all_gather(own, deadline);
  std::optional<Error> cause;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::string_view rest = all[rank];
    if (take<std::uint8_t>(rest) == 0) {
      const Error error = take_error(rest);
      const bool deeper =
          cause && cause->code() == ErrorCode::timeout && error.code() != ErrorCode::timeout;
      if (!cause || deeper)
        cause = Error{error.code(), error.what(),
                      error.culprit() < 0 ? static_cast<Rank>(rank) : error.culprit()};
    }
    all[rank] = std::string{rest};
  }
  if (cause) throw Error{*cause};
  return all;
}

}  // namespace tutti::runtime
