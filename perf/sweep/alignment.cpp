#include "perf/sweep/alignment.hpp"

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "perf/units.hpp"

namespace tutti::perf {

namespace {

constexpr std::size_t kPageBytes = 4096;
// glibc's malloc maps pages for arrays above 128 KiB, and puts a header of 16 bytes before them. A
// shorter array starts at any multiple of 16.
constexpr std::size_t kMallocOffset = 16;
constexpr const char* kMallocWord = "malloc";
constexpr const char* kPageWord = "page";

std::size_t offset_of(const std::string& word) {
  if (word == kMallocWord) return kMallocOffset;
  if (word == kPageWord) return 0;
  return std::stoul(word);
}

std::optional<std::string> alignment_word(std::string_view text) {
  if (text == kMallocWord || text == kPageWord) return std::string{text};
  const auto bytes = parse_bytes(text);
  if (!bytes || !std::has_single_bit(*bytes) || *bytes >= kPageBytes) return {};
  return std::to_string(*bytes);
}

}  // namespace

std::size_t Alignment::in_offset() const {
  return offset_of(in);
}

std::size_t Alignment::out_offset() const {
  return offset_of(out);
}

std::string Alignment::text() const {
  return in == out ? in : in + ":" + out;
}

Alignment Alignment::of_visible() const {
  return {in == kMallocWord ? kPageWord : in, out == kMallocWord ? kPageWord : out};
}

std::optional<Alignment> parse_alignment(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto in = alignment_word(text.substr(0, colon));
  if (colon == std::string_view::npos)
    return in ? std::optional{Alignment{*in, *in}} : std::nullopt;
  const auto out = alignment_word(text.substr(colon + 1));
  return in && out ? std::optional{Alignment{*in, *out}} : std::nullopt;
}

std::size_t least_alignment(Datatype type) {
  return traits_of(type).alignment;
}

std::shared_ptr<std::byte> allocate_private(std::size_t bytes) {
  const std::size_t whole = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(kPageBytes, whole));
  if (memory == nullptr) throw std::bad_alloc{};
  return {memory, [](std::byte* given) { std::free(given); }};
}

std::shared_ptr<std::byte> allocate_at(const Allocate& allocate, std::size_t bytes,
                                       std::size_t offset) {
  const std::shared_ptr<std::byte> memory = allocate(bytes + offset + kPageBytes);
  const auto past_page = reinterpret_cast<std::uintptr_t>(memory.get()) % kPageBytes;
  const std::size_t lead = (kPageBytes - past_page) % kPageBytes + offset;
  return {memory, memory.get() + lead};
}

}  // namespace tutti::perf
