#include "import.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tutti::shm {
namespace {

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::uint64_t whole_pages(std::uint64_t bytes) {
  return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

Error wrong(const std::string& what) {
  return {ErrorCode::invalid_argument, what};
}

/// A line of /proc/self/maps.
struct MapsLine {
  std::uint64_t begin = 0, end = 0, offset = 0, file = 0;
  bool is_shared = false, is_writable = false;
};

bool read_line(const std::string& text, MapsLine& line) {
  char access[5]{};
  const int fields = std::sscanf(  // NOLINT(cert-err34-c): the system writes these numbers
      text.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*x:%*x %" SCNu64, &line.begin,
      &line.end, access, &line.offset, &line.file);
  line.is_shared = access[3] == 's';
  line.is_writable = access[0] == 'r' && access[1] == 'w';
  return fields == 5;
}

/// @param number of the file, in its file system. @return whether the memory is a mapping of it.
bool is_mapped(const MappedFile& file, std::uint64_t number) {
  std::ifstream maps{"/proc/self/maps"};
  const auto begin = reinterpret_cast<std::uintptr_t>(file.memory.data());
  std::uint64_t next = begin;
  MapsLine line;
  for (std::string text; std::getline(maps, text);) {
    if (!read_line(text, line) || line.end <= next) continue;
    const bool is_next = line.begin <= next && line.is_shared && line.is_writable &&
                         line.file == number &&
                         line.offset + (next - line.begin) == file.offset + (next - begin);
    if (!is_next) return false;
    next = line.end;
    if (next >= begin + file.memory.size()) return true;
  }
  return false;
}

struct stat stat_of(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0)
    throw wrong("descriptor " + std::to_string(descriptor) + ": " + std::strerror(errno));
  return status;
}

/// Owns a descriptor.
class OpenFile {
 public:
  explicit OpenFile(const ImportOffer& offer) {
    const std::string path =
        "/proc/" + std::to_string(offer.process) + "/fd/" + std::to_string(offer.descriptor);
    descriptor_ = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0)
      throw Error{ErrorCode::transport,
                  "cannot open " + path + ": " + std::strerror(errno) +
                      "; the ranks of a host must see each other's processes"};
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { close(descriptor_); }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace

void check_mapped_file(const MappedFile& file) {
  const auto address = reinterpret_cast<std::uintptr_t>(file.memory.data());
  if (file.memory.empty()) throw wrong("there are no bytes to import");
  if (address == 0) throw wrong("the address is null");
  if (address % page_bytes() != 0 || file.offset % page_bytes() != 0)
    throw wrong("memory at address " + std::to_string(address) + ", at byte " +
                std::to_string(file.offset) + " of its file, does not begin at a page of " +
                std::to_string(page_bytes()) + " bytes");
  const struct stat status = stat_of(file.descriptor);
  const int flags = fcntl(file.descriptor, F_GETFL);
  if (!S_ISREG(status.st_mode) || (flags & O_ACCMODE) != O_RDWR)
    throw wrong("descriptor " + std::to_string(file.descriptor) +
                " is no file that is open for reading and writing");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (file.offset > size || file.memory.size() > size - file.offset)
    throw wrong(std::to_string(file.memory.size()) + " bytes from byte " +
                std::to_string(file.offset) + " on do not fit the file, which has " +
                std::to_string(size));
  if (!is_mapped(file, status.st_ino))
    throw wrong("the memory is not a shared, writable mapping of descriptor " +
                std::to_string(file.descriptor) + " from byte " + std::to_string(file.offset) +
                " on");
}

Import::Import(std::shared_ptr<Domain> domain, const MappedFile& file)
    : domain_{std::move(domain)}, region_{{.begin = file.memory.data(),
                                           .bytes = file.memory.size(),
                                           .offset = 0}} {
  const struct stat status = stat_of(file.descriptor);
  offer_ = {.process = getpid(),
            .descriptor = file.descriptor,
            .device = status.st_dev,
            .number = status.st_ino,
            .begin = file.offset,
            .bytes = whole_pages(file.memory.size()),
            .offset = 0};
  offer_.offset = domain_->segment().reserve_addresses(offer_.bytes);
  region_.front().offset = offer_.offset;
}

Import::~Import() {
  if (domain_->segment().guard().is_forked()) return;  // a child has none of the mappings
  if (region_.empty()) domain_->regions().remove(offer_.offset);
  for (const auto& [address, view] : views_) domain_->regions().unmap(address, offer_.bytes, view);
  domain_->segment().release_addresses(offer_.offset, offer_.bytes);
}

void Import::map(const Domain::Member& member, const ImportOffer& offer) {
  const Mapping& mapping = *member.mapping;
  if (offer.bytes != offer_.bytes || offer.offset % page_bytes() != 0 ||
      !mapping.holds(offer.offset, offer.bytes))
    throw Error{ErrorCode::transport, "a rank offers memory that does not fit its segment"};
  const OpenFile file{offer};
  const struct stat status = stat_of(file.descriptor());
  if (status.st_dev != offer.device || status.st_ino != offer.number)
    throw Error{ErrorCode::transport, "process " + std::to_string(offer.process) +
                                          " of another rank is a different one here; the ranks of "
                                          "a host must see each other's processes"};
  region_.front().readers.push_back(&mapping);
  views_.reserve(views_.size() + 1);
  std::byte* const address = mapping.base() + offer.offset;
  views_.emplace_back(address,
                      domain_->regions().map(address, offer.bytes, file.descriptor(), offer.begin));
}

void Import::publish() noexcept {
  domain_->regions().add(region_);
}

}  // namespace tutti::shm
