// For builds without the CUDA toolkit.
#include "survey.hpp"

namespace tutti::v0::cuda {

Survey survey() {
  const std::string why = "built without the CUDA toolkit: install it, then build again";
  return {.why_no_driver = why, .why_no_nccl = why};
}

}  // namespace tutti::v0::cuda
