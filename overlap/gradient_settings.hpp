/// @file
/// The options of GradientSync by name.
#pragma once

#include <tutti/gradient_sync.hpp>

namespace tutti::v0::detail {

/// Calls a function for each option that a file can have: with its name, the expected values, and
/// the option.
template <class Options, class Function>
void for_each_setting(Options& options, Function function) {
  function("bucket_bytes", "a number of bytes, or flat", options.bucket_bytes);
  function("first_bucket_bytes", "a number of bytes", options.first_bucket_bytes);
  function("in_place_bytes", "a number of bytes", options.in_place_bytes);
  function("order", joined_names(kGradientOrders, " or "), options.order);
  function("storage", joined_names(kGradientStorages, " or "), options.storage);
  function("unused", joined_names(kUnusedGradients, " or "), options.unused);
  function("average", "true or false", options.average);
  function("check_finite", "true or false", options.check_finite);
  function("norm", "true or false", options.norm);
  function("max_norm", "a number", options.max_norm);
  function("hash", "true or false", options.hash);
  function("in_flight", "a number of buckets", options.in_flight);
  function("verify_every", "a number of steps", options.verify_every);
  function("algorithm", "the name of an all_reduce algorithm, or nothing", options.algorithm);
  function("compression", "as of GradientOptions::compression, or nothing", options.compression);
  function("compression_after", "a number of steps", options.compression_after);
}

}  // namespace tutti::v0::detail
