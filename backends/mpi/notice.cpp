#include "notice.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include <tutti/spi/copy.hpp>

#include "check.hpp"

namespace tutti::v0::mpi {
namespace {

constexpr Duration kPatience = std::chrono::seconds{1};  // for the rest of a notice

// Receives a notice that a probe has found. Returns whether all of it arrived.
bool receive(MPI_Message& message, Notice& notice) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(PMPI_Imrecv(&notice, sizeof notice, MPI_BYTE, &message, &request),
        "receive an abort notice");
  const Duration deadline = time_now() + kPatience;
  for (int done = 0; time_now() < deadline;) {
    check(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), "receive an abort notice");
    if (done != 0) return true;
  }
  return false;
}

}  // namespace

Notice make_notice(const Error& cause) noexcept {
  Notice notice{.code = cause.cause(), .culprit = cause.culprit()};
  const std::size_t length = std::min(std::strlen(cause.what()), notice.text.size());
  copy_bytes(notice.text.data(), cause.what(), length);
  notice.length = static_cast<std::uint32_t>(length);
  return notice;
}

// Probes instead of posting a wildcard receive in advance: that would have to be cancelled in the
// end, and slows down the matching of all other messages in some MPIs.
std::optional<Error> find_notice(const Ranks& ranks) {
  int found = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  check(PMPI_Improbe(MPI_ANY_SOURCE, notice_tag(ranks), ranks.comm, &found, &message, &status),
        "look for abort notices");
  if (found == 0) return std::nullopt;
  const Rank source = status.MPI_SOURCE;
  auto notice = std::make_unique<Notice>();
  if (!receive(message, *notice)) {
    static_cast<void>(notice.release());  // the MPI may still write into it
    return Error{
        ErrorCode::aborted,
        "rank " + std::to_string(source) + " failed; its notice of the reason did not arrive",
        source};
  }
  const std::size_t length = std::min<std::size_t>(notice->length, notice->text.size());
  return Error{ErrorCode::aborted,
               "rank " + std::to_string(source) + " failed (" + std::string{name_of(notice->code)} +
                   "): " + std::string(notice->text.data(), length),
               notice->culprit, notice->code};
}

}  // namespace tutti::v0::mpi
