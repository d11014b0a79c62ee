/// @file
/// How ranks come to share a communicator of NCCL.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include <tutti/communicator.hpp>

#include "nccl_streams.hpp"

namespace tutti::inline v0::cuda {

/// What a rank tells all others, so that they go on together or not at all.
struct Report {
  std::array<std::uint8_t, 16> uuid{};  ///< Of its GPU.
  std::array<char, 384> why{};          ///< What it lacks, or nothing.
  ErrorCode code = ErrorCode::transport;
  bool takes_nccl = true;  ///< Whether its messages go by NCCL.
  ncclUniqueId id{};       ///< Rank 0's.
};

/// Does a part of the start. @param report says what it threw.
template <class Part>
void attempt(Report& report, Part part) {
  try {
    part();
  } catch (const Error& error) {
    report.code = error.code();
    std::strncpy(report.why.data(), error.what(), report.why.size() - 1);
  }
}

/// Collective. @return what all ranks say. Throws, on all, what the first one says that lacks
/// something.
[[nodiscard]] std::vector<Report> agree(Communicator& world, const Report& own);

/// Collective. @param world of ranks. @param parts of this one. @return their streams. Throws, on
/// all of them alike, what the first one says that fails.
[[nodiscard]] std::shared_ptr<NcclStreams> connect_nccl(Communicator& world,
                                                        const NcclStreams::Parts& parts);

}  // namespace tutti::inline v0::cuda
