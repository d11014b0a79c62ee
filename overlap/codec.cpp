#include "codec.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include <tutti/spi/gradient_kernels.hpp>

namespace tutti::v0::detail {
namespace {

/// The formats in the order of kGradientCompressions, with their default numbers.
constexpr std::array<Compression, kGradientCompressions.size()> kUsualCompressions{
    {{Compression::Method::f16},
     {Compression::Method::bf16},
     {Compression::Method::int8, 256},
     {Compression::Method::one_bit, 1024},
     {Compression::Method::power_sgd, 2},
     {Compression::Method::top_k, 0, 0.01}}};

/// @return all formats, such as "f16, int8[:BLOCK] and top_k[:SHARE]".
std::string names_of_compressions() {
  std::string text;
  for (const GradientCompression& one : kGradientCompressions) {
    if (!text.empty()) text += &one == &kGradientCompressions.back() ? " and " : ", ";
    text += one.name;
    if (!one.argument.empty()) text += "[:" + std::string{one.argument} + "]";
  }
  return text;
}

/// Reads the number after the colon. @return whether the format allows it.
bool read_number(std::string_view text, Compression& compression) {
  const auto all_read = [text](std::from_chars_result result) {
    return result.ec == std::errc{} && result.ptr == text.data() + text.size();
  };
  const char* const end = text.data() + text.size();
  if (compression.share > 0)
    return all_read(std::from_chars(text.data(), end, compression.share)) &&
           compression.share > 0 && compression.share <= 1;
  return compression.size > 0 && all_read(std::from_chars(text.data(), end, compression.size)) &&
         compression.size > 0 && compression.size <= 1'000'000;
}

}  // namespace

Compression parse_compression(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = std::string_view{text}.substr(0, colon);
  const auto known = std::ranges::find(kGradientCompressions, name, &GradientCompression::name);
  if (known != kGradientCompressions.end()) {
    Compression compression =
        kUsualCompressions.at(static_cast<std::size_t>(known - kGradientCompressions.begin()));
    if (colon == std::string::npos) return compression;
    if (read_number(std::string_view{text}.substr(colon + 1), compression)) return compression;
  }
  throw Error{ErrorCode::invalid_argument,
              "GradientSync: compression '" + text + "' is none of " + names_of_compressions() +
                  ", where BLOCK and RANK are whole numbers from 1 on, and SHARE is above 0 and at "
                  "most 1"};
}

std::unique_ptr<BucketReduction> make_compressed(BucketContext context) {
  const Compression compression = parse_compression(context.options->compression);
  if (compression.method == Compression::Method::power_sgd)
    return make_power_sgd(std::move(context), compression.size);
  if (compression.method == Compression::Method::top_k)
    return make_top_k(std::move(context), compression.share);
  return make_quantized(std::move(context), compression);
}

CompressedReduction::CompressedReduction(BucketContext given)
    : BucketReduction{std::move(given)}, factor_{context().op->kind() == OperatorKind::average
                                                     ? 1.0F
                                                     : static_cast<float>(context().ranks())} {
  const std::size_t count = context().count();
  if (context().type == Datatype::f32) {
    elements_ = {reinterpret_cast<float*>(context().memory.data()), count};
  } else {
    copies_.resize(count);
    elements_ = copies_;
  }
}

Request CompressedReduction::begin() {
  if (!copies_.empty()) copy_in();
  return encode();
}

void CompressedReduction::end() {
  decode();
  if (!copies_.empty()) copy_out();
  // Each rank inspects only its share; the findings of all ranks are added up later.
  if (is_inspected(*context().options)) look_at_own(context());
}

void CompressedReduction::copy_in() {
  const Datatype type = context().type;
  std::byte* const data = context().memory.data();
  if (type != Datatype::f64)
    return gradient_kernels().lengthen(type, data, copies_.size(), copies_.data());
  const auto* const elements = reinterpret_cast<const double*>(data);
  for (std::size_t i = 0; i < copies_.size(); ++i) copies_[i] = static_cast<float>(elements[i]);
}

void CompressedReduction::copy_out() {
  const Datatype type = context().type;
  std::byte* const data = context().memory.data();
  if (type != Datatype::f64)
    return gradient_kernels().shorten(type, copies_.data(), copies_.size(), data);
  std::ranges::copy(copies_, reinterpret_cast<double*>(data));
}

}  // namespace tutti::v0::detail
