#include "backends.hpp"

namespace tutti::conformance {

const std::vector<Backend>& backends() {
  static const std::vector<Backend> all{sim_backend(), shm_backend(), shm_process_backend(),
                                        tcp_backend()};
  return all;
}

}  // namespace tutti::conformance
