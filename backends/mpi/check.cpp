#include "check.hpp"

#include <array>

namespace tutti::v0::mpi {
namespace {

bool means_dead_peer([[maybe_unused]] int error_class) {
  bool dead = false;
#ifdef MPIX_ERR_PROC_FAILED
  dead = dead || error_class == MPIX_ERR_PROC_FAILED;
#endif
#ifdef MPIX_ERR_REVOKED
  dead = dead || error_class == MPIX_ERR_REVOKED;
#endif
  return dead;
}

}  // namespace

Error error_of(int code, const std::string& action, Rank peer) {
  int error_class = MPI_ERR_OTHER;
  PMPI_Error_class(code, &error_class);
  if (error_class == MPI_ERR_TRUNCATE)
    return {ErrorCode::mismatch,
            "cannot " + action +
                ": more bytes arrived than this rank expects; all ranks must call "
                "the same collective with the same count",
            peer};
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (PMPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  return {
      means_dead_peer(error_class) ? ErrorCode::peer_dead : ErrorCode::transport,
      "MPI cannot " + action + ": " + std::string(text.data(), static_cast<std::size_t>(length)),
      peer};
}

}  // namespace tutti::v0::mpi
