#include "schedules/written_xml.hpp"

#include <expat.h>
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include <tutti/error.hpp>

#include "base/text_file.hpp"
#include "schedules/written.hpp"

namespace tutti::v0::written {
namespace {

std::int64_t number_of(std::string_view key, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (error != std::errc{} || end != text.data() + text.size() || value < -1 || value > kMost)
    reject_written(fmt::format("{}=\"{}\" is not a valid number", key, text.substr(0, 40)));
  return value;
}

/// An attribute that an element may have, and its member.
template <class Element>
struct Attribute {
  std::string_view name;
  std::int64_t Element::*number = nullptr;
  std::string Element::*text = nullptr;
};

/// Reads known attributes. Others are for programs that run the file: channels, protocols, sizes.
template <class Element, std::size_t N>
Element read(const Attribute<Element> (&known)[N], const char** attributes) {
  Element element;
  for (; attributes[0] != nullptr; attributes += 2)
    for (const Attribute<Element>& attribute : known) {
      if (attribute.name != attributes[0]) continue;
      if (attribute.text != nullptr) element.*attribute.text = attributes[1];
      else element.*attribute.number = number_of(attributes[0], attributes[1]);
    }
  return element;
}

constexpr Attribute<XmlAlgorithm> kOfAlgorithm[] = {
    {"name", nullptr, &XmlAlgorithm::name}, {"coll", nullptr, &XmlAlgorithm::coll},
    {"ngpus", &XmlAlgorithm::ngpus},        {"nchunksperloop", &XmlAlgorithm::chunks},
    {"inplace", &XmlAlgorithm::inplace},    {"root", &XmlAlgorithm::root},
    {"units", &XmlAlgorithm::units},        {"planes", &XmlAlgorithm::planes}};
constexpr Attribute<XmlRank> kOfRank[] = {{"id", &XmlRank::id}, {"paced", &XmlRank::paced}};
constexpr Attribute<XmlBlock> kOfBlock[] = {{"id", &XmlBlock::id},
                                            {"send", &XmlBlock::send},
                                            {"recv", &XmlBlock::recv},
                                            {"chan", &XmlBlock::chan}};
constexpr Attribute<XmlStep> kOfStep[] = {{"type", nullptr, &XmlStep::type},
                                          {"srcbuf", nullptr, &XmlStep::srcbuf},
                                          {"dstbuf", nullptr, &XmlStep::dstbuf},
                                          {"srcoff", &XmlStep::srcoff},
                                          {"dstoff", &XmlStep::dstoff},
                                          {"cnt", &XmlStep::cnt},
                                          {"depid", &XmlStep::depid},
                                          {"deps", &XmlStep::deps},
                                          {"round", &XmlStep::round},
                                          {"order", &XmlStep::order},
                                          {"space", nullptr, &XmlStep::space},
                                          {"first", &XmlStep::first},
                                          {"from_space", nullptr, &XmlStep::from_space},
                                          {"from_first", &XmlStep::from_first},
                                          {"side", nullptr, &XmlStep::side},
                                          {"finish", &XmlStep::finish}};

/// The most elements of a file. Each takes some hundred bytes of memory.
constexpr std::size_t kMostElements = std::size_t{1} << 22U;

/// The state of the parser.
class Reader {
 public:
  void begin(std::string_view element, const char** attributes) {
    constexpr std::string_view kNested[] = {"algo", "gpu", "tb", "step"};
    if (depth_ == 0 && !is_read_ && element != kNested[0])
      reject_written(fmt::format("it is not a schedule: expected an <algo> of MSCCL, found <{}>",
                                 element.substr(0, 40)));
    if (++elements_ > kMostElements)
      reject_written(
          fmt::format("it has more than {} elements, the most that is read", kMostElements));
    if (depth_ >= std::size(kNested) || element != kNested[depth_] || (depth_ == 0 && is_read_))
      reject_written(fmt::format("there is a <{}> in the wrong place", element.substr(0, 40)));
    switch (depth_++) {
      case 0: algorithm_ = read(kOfAlgorithm, attributes); break;
      case 1: algorithm_.ranks.push_back(read(kOfRank, attributes)); break;
      case 2: algorithm_.ranks.back().blocks.push_back(read(kOfBlock, attributes)); break;
      default: algorithm_.ranks.back().blocks.back().steps.push_back(read(kOfStep, attributes));
    }
  }
  void end() noexcept {
    --depth_;
    is_read_ = true;
  }
  [[nodiscard]] XmlAlgorithm finish() { return std::move(algorithm_); }
  /// @return the place in the file up to which it was read, for errors.
  [[nodiscard]] std::string where() const {
    if (depth_ < 3 || algorithm_.ranks.empty()) return {};
    const XmlRank& rank = algorithm_.ranks.back();
    if (depth_ < 4 || rank.blocks.empty()) return fmt::format("gpu {}: ", rank.id);
    const XmlBlock& block = rank.blocks.back();
    return fmt::format("gpu {}, tb {}, step {}: ", rank.id, block.id, block.steps.size());
  }

  std::optional<Error> failure{};  // exceptions do not pass through the parser

 private:
  std::size_t depth_ = 0;
  std::size_t elements_ = 0;
  bool is_read_ = false;
  XmlAlgorithm algorithm_{};
};

struct Free {
  void operator()(XML_Parser parser) const noexcept { XML_ParserFree(parser); }
};
using Parser = std::unique_ptr<XML_ParserStruct, Free>;

/// Handlers get the parser itself, and stop it after an error.
Reader& reader_of(void* parser) {
  return *static_cast<Reader*>(XML_GetUserData(static_cast<XML_Parser>(parser)));
}
void XMLCALL begin_element(void* parser, const char* name, const char** attributes) {
  Reader& reader = reader_of(parser);
  if (reader.failure) return;
  try {
    reader.begin(name, attributes);
  } catch (const Error& error) {
    reader.failure = Error{error.code(), reader.where() + error.what()};
    XML_StopParser(static_cast<XML_Parser>(parser), XML_FALSE);
  }
}
void XMLCALL end_element(void* parser, const char*) {
  if (!reader_of(parser).failure) reader_of(parser).end();
}
void XMLCALL begin_doctype(void* parser, const char*, const char*, const char*, int) {
  reader_of(parser).failure = Error{ErrorCode::invalid_argument, "it has a document type"};
  XML_StopParser(static_cast<XML_Parser>(parser), XML_FALSE);
}

}  // namespace

XmlAlgorithm parse_xml(std::string_view text) {
  if (text.size() > detail::kMostFileBytes)
    reject_written(fmt::format("it has more than {} MiB, the most that is read",
                               detail::kMostFileBytes >> 20U));
  const Parser parser{XML_ParserCreate("UTF-8")};
  if (!parser) throw std::bad_alloc{};
  Reader reader;
  XML_SetUserData(parser.get(), &reader);
  XML_UseParserAsHandlerArg(parser.get());
  XML_SetElementHandler(parser.get(), begin_element, end_element);
  XML_SetStartDoctypeDeclHandler(parser.get(), begin_doctype);
  const XML_Status status =
      XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), XML_TRUE);
  if (reader.failure) throw Error{*reader.failure};
  if (status != XML_STATUS_OK)
    reject_written(fmt::format("it is not XML: syntax error in line {}, column {}",
                               XML_GetCurrentLineNumber(parser.get()),
                               XML_GetCurrentColumnNumber(parser.get()) + 1));
  return reader.finish();
}

}  // namespace tutti::v0::written
