// Replaces pmix.cpp in a build without <pmix.h>.
#include "pmix.hpp"

namespace tutti::runtime {

bool has_pmix() noexcept {
  return false;
}

std::unique_ptr<Channel> pmix_channel() {
  throw Error{ErrorCode::transport,
              "this build does not support PMIx, which the launcher uses: install libpmix-dev and "
              "build again, or set TUTTI_URL to where the ranks meet"};
}

}  // namespace tutti::runtime
