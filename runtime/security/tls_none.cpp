#include "tls.hpp"

namespace tutti::runtime {

bool has_tls() noexcept {
  return false;
}

std::vector<std::shared_ptr<tcp::Cipher>> encrypt(const std::vector<TlsEnd>&, const Secret&,
                                                  Deadline) {
  throw Error{ErrorCode::invalid_argument, "tutti was built without OpenSSL, so there is no TLS"};
}

}  // namespace tutti::runtime
