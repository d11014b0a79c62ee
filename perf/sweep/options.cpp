#include "perf/sweep/options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "perf/command_line.hpp"
#include "perf/failure.hpp"
#include "perf/units.hpp"

namespace tutti::perf {

namespace {

[[noreturn]] void reject_options(const std::string& message) {
  throw Failure{ExitCode::usage, message};
}

void check_on_host(const SweepOptions& options) {
  if (options.graph) reject_options("--graph replays graphs of a GPU: add --memory cuda");
  if (options.buffers == "visible" && !transport_named(options.transport).shares_memory)
    reject_options(fmt::format(
        "--buffers visible: ranks cannot see each other's memory over transport {}; use "
        "--transport shm, or --buffers private",
        options.transport));
}

void check_on_gpus(const SweepOptions& options) {
  if (options.graph && options.gpu_transport == "host")
    reject_options("--graph: messages over the host cannot be captured; use --memory cuda");
  if (options.segment != 0)
    reject_options(
        "--segment: calls on streams of a GPU have none; leave it out beside --memory cuda");
  if (options.align.text() != Alignment{}.text() || !options.more_alignments.empty())
    reject_options("--align places arrays of the host: leave it out beside --memory cuda");
  if (options.is_isolated())
    reject_options(
        "--pattern isolated: calls on a stream of a GPU follow each other; leave it out beside "
        "--memory cuda");
}

void check_alignment(const Alignment& alignment, const SweepOptions& options) {
  const std::size_t least = least_alignment(options.type);
  for (const std::size_t offset : {alignment.in_offset(), alignment.out_offset()})
    if (offset % least != 0)
      reject_options(
          fmt::format("--align '{}': elements of {} need an alignment of {} bytes or more",
                      alignment.text(), name_of(options.type), least));
  if (options.in_place && alignment.in != alignment.out)
    reject_options(
        fmt::format("--align '{}': with --in-place input and output are one array; write one "
                    "alignment",
                    alignment.text()));
}

}  // namespace

void check_output(const SweepOptions& options) {
  if (options.csv == "-" && options.json == "-")
    reject_options(
        "--csv - and --json - both write to standard output: name a file for one of them");
  if (options.format != "table" && !options.has_table())
    reject_options(
        fmt::format("--format {} is for the table, which --quiet, --csv - and --json - "
                    "leave out",
                    options.format));
}

void check_together(const SweepOptions& options) {
  options.on_gpus ? check_on_gpus(options) : check_on_host(options);
  check_alignment(options.align, options);
  for (const Alignment& alignment : options.more_alignments) check_alignment(alignment, options);
  for (const auto& collectives : {options.collectives, options.uneven})
    if (std::ranges::any_of(collectives, is_reduction) && !is_defined(options.op, options.type))
      reject_options(fmt::format("operator {} is not defined for datatype {}", name_of(options.op),
                                 name_of(options.type)));
  if (options.begin_bytes == 0) reject_options("--begin is 0: it must be 1 or more");
  if (options.end_bytes < options.begin_bytes)
    reject_options(fmt::format("--end {} is less than --begin {}", format_bytes(options.end_bytes),
                               format_bytes(options.begin_bytes)));
}

std::vector<std::size_t> SweepOptions::sizes() const {
  std::vector<std::size_t> result;
  for (std::size_t bytes = begin_bytes; bytes <= end_bytes; bytes *= factor) {
    result.push_back(bytes);
    if (bytes > end_bytes / factor) break;
  }
  return result;
}

Alignment SweepOptions::array_alignment(const std::optional<Alignment>& other) const {
  const Alignment& wanted = other ? *other : align;
  return buffers == "visible" ? wanted.of_visible() : wanted;
}

std::string SweepOptions::alignment_text(const std::optional<Alignment>& other) const {
  return on_gpus ? "" : array_alignment(other).text();
}

std::string_view name_of(CallPattern pattern) {
  return pattern == CallPattern::isolated ? "isolated" : "back_to_back";
}

}  // namespace tutti::perf
