/// @file
/// MSCCL's XML as it stands in a file: elements and numbers, without a meaning yet.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/version.hpp>

namespace tutti::v0::written {

/// A `step` of a threadblock.
struct XmlStep {
  std::string type{};            ///< "s", "r", "rrc", "rcs", "rrs", "rrcs", "re", "cpy", "nop".
  std::string srcbuf{};          ///< "i", "o" or "s".
  std::string dstbuf{};          ///< Likewise.
  std::int64_t srcoff = 0;       ///< In chunks.
  std::int64_t dstoff = 0;       ///< Likewise.
  std::int64_t cnt = 1;          ///< Chunks.
  std::int64_t depid = -1;       ///< Threadblock that it waits for,
  std::int64_t deps = -1;        ///< and after which of its steps.
  std::int64_t round = -1;       ///< Of ours: in which round it is,
  std::int64_t order = -1;       ///< and at which place; pieces of one step share it.
  std::string space{};           ///< Of ours: of its slots, "in", "out" or "scratch",
  std::int64_t first = -1;       ///< and the first of them;
  std::string from_space{};      ///< the same of the other operand,
  std::int64_t from_first = -1;  ///< or of what is copied.
  std::string side = "left";     ///< Of ours: where the incoming operand stands.
  std::int64_t finish = 0;       ///< Of ours: 1 where a nop stands for a Finish.
};

/// A `tb`: steps one after the other.
struct XmlBlock {
  std::int64_t id = 0;           ///< By which steps wait for it.
  std::int64_t send = -1;        ///< To which gpu it sends.
  std::int64_t recv = -1;        ///< From which it receives.
  std::int64_t chan = 0;         ///< Channel.
  std::vector<XmlStep> steps{};  ///< In order.
};

/// A `gpu`: one rank.
struct XmlRank {
  std::int64_t id = 0;             ///< The rank.
  std::int64_t paced = 0;          ///< Of ours: whether rounds are flow control.
  std::vector<XmlBlock> blocks{};  ///< Its threadblocks.
};

/// An `algo`: the whole file.
struct XmlAlgorithm {
  std::string name{};            ///< Of the algorithm.
  std::string coll{};            ///< Such as "allreduce".
  std::int64_t ngpus = 0;        ///< Ranks.
  std::int64_t chunks = 0;       ///< `nchunksperloop`.
  std::int64_t inplace = 0;      ///< Whether input and output are one memory.
  std::int64_t root = 0;         ///< Of ours.
  std::int64_t units = -1;       ///< Of ours: offsets are slots of so many units,
  std::int64_t planes = -1;      ///< and so many planes.
  std::vector<XmlRank> ranks{};  ///< In the order of the file.
};

/// Reads a file. Throws Error{invalid_argument} for what is no such XML, for elements and
/// attributes in the wrong place, and for document types, which could make much of little.
/// @param text of the file. @return its content.
[[nodiscard]] XmlAlgorithm parse_xml(std::string_view text);

}  // namespace tutti::v0::written
