// Which arrays of a model ranks make equal, and which they reduce.
#pragma once

#include <span>
#include <vector>

#include <tutti/gradient_sync.hpp>

#include "options.hpp"

namespace digits {

inline std::vector<tutti::Parameter> weights(Model& model) {
  std::vector<tutti::Parameter> arrays;
  for (Tensor* tensor : model.tensors())
    arrays.push_back(tutti::Parameter::of(tensor->name, tensor->values));
  return arrays;
}

// Means and variances of batches.
inline std::vector<tutti::Parameter> buffers(Model& model) {
  std::vector<tutti::Parameter> arrays;
  for (Tensor* tensor : model.buffers())
    arrays.push_back(tutti::Parameter::of(tensor->name, tensor->values));
  return arrays;
}

// What the optimizer remembers of each weight.
inline std::vector<tutti::Parameter> velocities(Model& model) {
  std::vector<tutti::Parameter> arrays;
  for (Tensor* tensor : model.tensors())
    arrays.push_back(tutti::Parameter::of("velocity/" + tensor->name, tensor->velocity));
  return arrays;
}

inline std::vector<tutti::Parameter> gradients(Model& model, const Options& options) {
  std::vector<tutti::Parameter> arrays;
  for (Tensor* tensor : model.tensors()) {
    arrays.push_back(tutti::Parameter::of(tensor->name, tensor->gradient));
    arrays.back().rows = tensor->rows;
    if (options.views) arrays.back().data = nullptr;  // GradientSync says where
  }
  return arrays;
}

// Gradients are those of a part of the batch, divided by its whole size: their sum is wanted, which
// is right for shares of unequal sizes too.
inline tutti::GradientOptions sync_options(const Options& options) {
  using tutti::GradientOrder, tutti::GradientStorage;
  return {.bucket_bytes = options.bucket_bytes,
          .first_bucket_bytes = options.bucket_bytes,
          .order = GradientOrder::reversed,  // as backward goes
          .storage = options.views ? GradientStorage::views : GradientStorage::copies,
          .average = false};
}

// Puts gradients where GradientSync has room for them, which saves copies.
inline void use_views(Model& model, const tutti::GradientSync& sync) {
  std::size_t i = 0;
  for (Tensor* tensor : model.tensors())
    tensor->gradient = {static_cast<float*>(sync.view(i++)), tensor->values.size()};
}

}  // namespace digits
