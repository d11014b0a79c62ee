// The arrays of a model that ranks keep equal, and those that they reduce.
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

// The optimizer's state for each weight.
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
    if (options.views) arrays.back().data = nullptr;  // GradientSync provides the memory
  }
  return arrays;
}

// A rank's gradients are those of its part of the batch, divided by the size of the whole batch. So
// their sum is the gradient of the batch, even if parts have different sizes.
inline tutti::GradientOptions sync_options(const Options& options) {
  using tutti::GradientOrder, tutti::GradientStorage;
  return {.bucket_bytes = options.bucket_bytes,
          .first_bucket_bytes = options.bucket_bytes,
          .order = GradientOrder::reversed,  // the order of backward
          .storage = options.views ? GradientStorage::views : GradientStorage::copies,
          .average = false};
}

// Stores gradients in the memory of GradientSync, which saves copies.
inline void use_views(Model& model, const tutti::GradientSync& sync) {
  std::size_t i = 0;
  for (Tensor* tensor : model.tensors())
    tensor->gradient = {static_cast<float*>(sync.view(i++)), tensor->values.size()};
}

}  // namespace digits
