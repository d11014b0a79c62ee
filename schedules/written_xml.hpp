/// @file
/// MSCCL's XML as data: elements and numbers, not yet interpreted.
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
  std::string dstbuf{};          ///< As srcbuf.
  std::int64_t srcoff = 0;       ///< In chunks.
  std::int64_t dstoff = 0;       ///< In chunks.
  std::int64_t cnt = 1;          ///< Chunks.
  std::int64_t depid = -1;       ///< Threadblock that it waits for.
  std::int64_t deps = -1;        ///< Step of that threadblock that it waits for.
  std::int64_t round = -1;       ///< tutti's: number of the round.
  std::int64_t order = -1;       ///< tutti's: position in the round; pieces of a step share it.
  std::string space{};           ///< tutti's: "in", "out" or "scratch", of its slots.
  std::int64_t first = -1;       ///< tutti's: the first slot.
  std::string from_space{};      ///< tutti's: space of the other operand, or of the source.
  std::int64_t from_first = -1;  ///< tutti's: first slot of the other operand, or of the source.
  std::string side = "left";     ///< tutti's: the side of the incoming operand.
  std::int64_t finish = 0;       ///< tutti's: 1 if a nop stands for a Finish.
};

/// A `tb`: steps one after the other.
struct XmlBlock {
  std::int64_t id = 0;           ///< Number that steps name to wait for it.
  std::int64_t send = -1;        ///< The gpu that it sends to.
  std::int64_t recv = -1;        ///< The gpu that it receives from.
  std::int64_t chan = 0;         ///< Channel.
  std::vector<XmlStep> steps{};  ///< In order.
};

/// A `gpu`: one rank.
struct XmlRank {
  std::int64_t id = 0;             ///< The rank.
  std::int64_t paced = 0;          ///< tutti's: whether rounds are flow control.
  std::vector<XmlBlock> blocks{};  ///< Its threadblocks.
};

/// An `algo`: the whole file.
struct XmlAlgorithm {
  std::string name{};            ///< The algorithm's name.
  std::string coll{};            ///< Such as "allreduce".
  std::int64_t ngpus = 0;        ///< Ranks.
  std::int64_t chunks = 0;       ///< `nchunksperloop`.
  std::int64_t inplace = 0;      ///< Whether input and output are one memory.
  std::int64_t root = 0;         ///< tutti's: the root.
  std::int64_t units = -1;       ///< tutti's: units of the vector; offsets are slots.
  std::int64_t planes = -1;      ///< tutti's: number of planes.
  std::vector<XmlRank> ranks{};  ///< In the order of the file.
};

/// Reads a file. Throws Error{invalid_argument} for other XML, for misplaced elements and
/// attributes, and for document types, whose entities could expand to very long texts.
[[nodiscard]] XmlAlgorithm parse_xml(std::string_view text);

}  // namespace tutti::v0::written
