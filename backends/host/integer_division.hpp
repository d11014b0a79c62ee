/// @file
/// The last step of an average of integers. It has no kernel: no processor divides vectors of them.
#pragma once

#include <cstddef>

#include <tutti/types.hpp>

namespace tutti::host {

/// Divides in place, truncating towards zero; unsigned types as unsigned. @param type an integer
/// type. @param data the elements. @param divisor one or more.
void divide_integers(Datatype type, void* data, std::size_t count, int divisor);

}  // namespace tutti::host
