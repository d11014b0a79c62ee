#include "command/features.hpp"

#include <fmt/format.h>

#include <new>

#include <tutti/error.hpp>

#include "backends/shm/process_copies.hpp"
#include "perf/mpi/library.hpp"

namespace tutti::command {

Feature shared_memory() {
  const std::size_t window = shm::kWindowPieces * std::size_t{shm::piece_bytes_for(2)};
  const std::string memory = "shared memory of the ranks of a host; ";
  try {
    const auto segment = shm::make_segment();
    segment->deallocate(segment->allocate(window));
    return {"shm", true,
            fmt::format("{}a window of {} MiB per rank{}", memory, window >> 20,
                        shm::ReadableProcess{}.published().id == 0
                            ? ""
                            : ", and the system copies between processes")};
  } catch (const std::bad_alloc&) {
    return {"shm", true,
            memory + "too little memory for windows, so long messages take small steps"};
  } catch (const Error& error) {
    return {"shm", false, error.what()};
  }
}

std::string mpi_in_words() {
  const perf::LoadedMpi& mpi = perf::loaded_mpi();
  return mpi.module == nullptr ? "" : fmt::format("{}, {}", mpi.module->library(), mpi.path);
}

std::string why_no_mpi() {
  return perf::installed_mpi_modules().empty()
             ? "built without one: install openmpi-bin libopenmpi-dev (or mpich libmpich-dev), "
               "then build again"
             : perf::loaded_mpi().why;
}

std::string launch_in_words(const runtime::Launch& launch) {
  const std::string rank =
      launch.size < 0
          ? fmt::format("this is rank {}, by {}; PMIx has the number of ranks", launch.rank,
                        launch.source)
          : fmt::format("this is rank {} of {}: {}", launch.rank, launch.size, launch.source);
  return fmt::format("{}; the ranks meet over: {}", rank,
                     launch.url.empty() ? runtime::name_of(launch.exchange) : launch.url);
}

}  // namespace tutti::command
