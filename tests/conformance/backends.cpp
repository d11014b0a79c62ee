#include "backends.hpp"

namespace tutti::conformance {

const std::vector<Backend>& backends() {
  static const std::vector<Backend> all = [] {
    std::vector<Backend> made{sim_backend(), shm_backend(),
                              shm_crowded_backend(), tcp_backend()};
    for (Backend& encrypted : tls_backends()) made.push_back(std::move(encrypted));
    for (Backend& hybrid : hybrid_backends()) made.push_back(std::move(hybrid));
    return made;
  }();
  return all;
}

}  // namespace tutti::conformance
