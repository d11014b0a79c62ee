#include "all_or_none.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "descriptors.hpp"
#include "fields.hpp"
#include "mesh_links.hpp"

namespace tutti::runtime {
namespace {

/// How much an error tells of what began the trouble: that a rank is away tells least.
int depth_of(const Error& error, bool departed) {
  if (departed) return 0;
  if (error.code() == ErrorCode::peer_dead) return 1;
  return error.code() == ErrorCode::timeout ? 2 : 3;
}

}  // namespace

std::vector<std::string> all_or_none(Channel& channel, const Host& host, Deadline deadline,
                                     const std::function<std::string()>& part) {
  std::string own;
  const auto fail = [&own](const Error& error, bool departed = false) {
    own.clear();
    write_field(own, std::uint8_t{0});
    write_error(own, error);
    write_field(own, static_cast<std::uint8_t>(depth_of(error, departed)));
  };
  try {
    const std::string said = part();
    write_field(own, std::uint8_t{1});
    own += said;
  } catch (const DescriptorShortage& shortage) {
    fail(shortage.with_rank(channel.rank(), host.name));
  } catch (const Departure& departure) {
    fail(departure, true);
  } catch (const Error& error) {
    fail(error);
  } catch (const std::exception& error) {  // the others must not wait for this rank
    fail({ErrorCode::transport, std::string{"starting failed: "} + error.what()});
  }
  std::vector<std::string> all;
  try {
    all = channel.all_gather(own, deadline);
  } catch (const DescriptorShortage& shortage) {
    throw shortage.with_rank(channel.rank(), host.name);
  }
  std::optional<Error> cause;
  int deepest = -1;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::string_view rest = all[rank];
    if (read_field<std::uint8_t>(rest) == 0) {
      const Error error = read_error(rest);
      const int depth = read_field<std::uint8_t>(rest);
      if (depth > deepest)
        cause = Error{error.code(), error.what(),
                      error.culprit() < 0 ? static_cast<Rank>(rank) : error.culprit()};
      deepest = std::max(deepest, depth);
    }
    all[rank] = std::string{rest};
  }
  if (cause) throw Error{*cause};
  return all;
}

}  // namespace tutti::runtime
