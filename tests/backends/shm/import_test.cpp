// Memory of a program that other ranks see beside the segments.
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/shm/import.hpp"
#include "pair.hpp"

namespace tutti::shm {
namespace {

constexpr std::size_t kImportedBytes = (std::size_t{1} << 20) + 5;

/// A file, mapped.
class MemoryFile {
 public:
  explicit MemoryFile(std::size_t bytes = kImportedBytes) : bytes_{bytes} {
    EXPECT_EQ(ftruncate(descriptor_, static_cast<off_t>(bytes)), 0);
    data_ = static_cast<std::byte*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0));
    EXPECT_NE(static_cast<void*>(data_), MAP_FAILED);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() {
    munmap(data_, bytes_);
    close(descriptor_);
  }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] std::span<std::byte> memory() const noexcept { return {data_, bytes_}; }
  [[nodiscard]] MappedFile mapped() const {
    return {.descriptor = descriptor_, .memory = memory()};
  }

 private:
  int descriptor_ = memfd_create("test", MFD_CLOEXEC);
  std::size_t bytes_;
  std::byte* data_ = nullptr;
};

/// Memory that ranks 0 and 1 import together.
struct Imports {
  Imports(Host& host, const MemoryFile& first, const MemoryFile& second)
      : own{host.domains[0], first.mapped()}, other{host.domains[1], second.mapped()} {
    for (Import* const import : {&own, &other}) {
      Domain& domain = host.domain(import == &own ? 0 : 1);
      for (const Rank rank : kBoth)
        import->map(*domain.find(rank), rank == 0 ? own.offer() : other.offer());
    }
    own.publish();
    other.publish();
  }
  Import own, other;
};

/// @return whether bytes go from rank 0 to a rank while rank 0 does nothing: they are read in
/// place.
bool is_read_in_place(Host& host, std::span<const std::byte> data, std::uint64_t communicator) {
  const auto sender = host.transport(0, communicator);
  const auto receiver = host.transport(1, communicator);
  std::vector<std::byte> received(data.size());
  const Piece from{const_cast<std::byte*>(data.data()), data.size()};
  const Piece into{received.data(), received.size()};
  post(*sender, Transfer::Kind::send, {&from, 1});
  post(*receiver, Transfer::Kind::recv, {&into, 1});
  const bool came = completed(*receiver) == 1;
  std::size_t ended = came ? 1 : 0;
  for (int i = 0; i < 10000 && ended < 2; ++i)
    ended += completed(*sender, 1) + completed(*receiver, 1);
  EXPECT_EQ(ended, 2u);
  EXPECT_TRUE(std::ranges::equal(received, data));
  return came;
}

void fill_with(std::span<std::byte> data, int seed) {
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<std::byte>(i * 7 + i / 251 + static_cast<std::size_t>(seed));
}

TEST(ShmImport, BytesAreReadInPlaceWhileTheImportLives) {
  Host host{2};
  const MemoryFile first, second;
  fill_with(first.memory(), 1);
  EXPECT_FALSE(is_read_in_place(host, first.memory(), 1));
  {
    const Imports imports{host, first, second};
    EXPECT_TRUE(is_read_in_place(host, first.memory(), 2));
    EXPECT_TRUE(is_read_in_place(host, first.memory().subspan(100'003), 3)) << "a part";
  }
  EXPECT_FALSE(is_read_in_place(host, first.memory(), 4));
}

TEST(ShmImport, ARankThatHasNotMappedItGetsCopies) {
  Host host{2};
  const MemoryFile file;
  fill_with(file.memory(), 1);
  Import import{host.domains[0], file.mapped()};
  import.map(*host.domain(0).find(0), import.offer());
  import.publish();
  EXPECT_FALSE(is_read_in_place(host, file.memory(), 1));
}

TEST(ShmImport, AddressesAreUsedAgainAndLateEndsHarmNobody) {
  Host host{2};
  const std::size_t before = host.segment(0).used();
  const MemoryFile first, second;
  fill_with(first.memory(), 1);
  fill_with(second.memory(), 2);
  // Rank 1 keeps what it has mapped of the first import until after the second one.
  auto own = std::make_unique<Import>(host.domains[0], first.mapped());
  auto other = std::make_unique<Import>(host.domains[1], second.mapped());
  other->map(*host.domain(1).find(0), own->offer());
  const std::uint64_t offset = own->offer().offset;
  own.reset();
  const Imports imports{host, second, first};
  EXPECT_EQ(imports.own.offer().offset, offset);
  other.reset();
  EXPECT_TRUE(is_read_in_place(host, second.memory(), 1));
  EXPECT_EQ(host.segment(0).used(), before) << "addresses are no memory";
}

TEST(ShmImport, OffersThatDoNotFitAreRejected) {
  Host host{2};
  const MemoryFile file;
  Import import{host.domains[0], file.mapped()};
  const Domain::Member& member = *host.domain(0).find(1);
  ImportOffer offer = import.offer();
  offer.number += 1;
  EXPECT_THROW(import.map(member, offer), Error) << "another file";
  offer = import.offer();
  offer.descriptor = 100'000;
  EXPECT_THROW(import.map(member, offer), Error) << "no file";
  offer = import.offer();
  offer.offset = kSegmentSize;
  EXPECT_THROW(import.map(member, offer), Error) << "behind the segment";
  offer = import.offer();
  offer.offset += 1;
  EXPECT_THROW(import.map(member, offer), Error) << "in a page";
  offer = import.offer();
  offer.bytes += 4096;
  EXPECT_THROW(import.map(member, offer), Error) << "more bytes than this rank's";
}

TEST(ShmImport, AChildDoesNotEndIt) {
  Host host{2};
  const MemoryFile first, second;
  fill_with(first.memory(), 1);
  auto imports = std::make_unique<Imports>(host, first, second);
  const pid_t child = fork();
  if (child == 0) {
    imports.reset();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(is_read_in_place(host, first.memory(), 1));
}

void expect_wrong(const MappedFile& file, const std::string& text) {
  try {
    check_mapped_file(file);
    FAIL() << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string{error.what()}.find(text), std::string::npos) << error.what();
  }
}

TEST(ShmImport, MappingsAreChecked) {
  const MemoryFile file{3 * 4096}, other{3 * 4096};
  EXPECT_NO_THROW(check_mapped_file(file.mapped()));
  MappedFile part{.descriptor = file.descriptor(), .offset = 4096, .memory = file.memory()};
  part.memory = part.memory.subspan(4096, 100);
  EXPECT_NO_THROW(check_mapped_file(part));
  part.offset = 0;
  expect_wrong(part, "is not a shared, writable mapping");
  MappedFile wrong = file.mapped();
  wrong.descriptor = other.descriptor();
  expect_wrong(wrong, "is not a shared, writable mapping");
  wrong.descriptor = -1;
  expect_wrong(wrong, "descriptor -1");
  const int read_only =
      open(("/proc/self/fd/" + std::to_string(file.descriptor())).c_str(), O_RDONLY);
  wrong.descriptor = read_only;
  expect_wrong(wrong, "open for reading and writing");
  close(read_only);
  expect_wrong({.descriptor = file.descriptor(), .memory = {}}, "no bytes");
  ASSERT_EQ(mprotect(file.memory().data() + 4096, 4096, PROT_READ), 0);
  expect_wrong(file.mapped(), "is not a shared, writable mapping");
}

}  // namespace
}  // namespace tutti::shm
