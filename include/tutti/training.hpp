/// @file
/// The training aids beside GradientSync: which samples a rank sees, exact evaluation, checkpoints,
/// pipelines, arrays that the ranks of a host share, and weights that are averaged periodically.
/// Programs that include it link tutti::training.
#pragma once

#include <tutti/gradient_sync.hpp>
#include <tutti/training/checkpoint.hpp>
#include <tutti/training/metrics.hpp>
#include <tutti/training/once_per_node.hpp>
#include <tutti/training/periodic_sync.hpp>
#include <tutti/training/pipeline.hpp>
#include <tutti/training/sampler.hpp>
#include <tutti/training/shared_array.hpp>
