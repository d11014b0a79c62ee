// A step as a picture of characters.
#pragma once

#include <string>

#include <tutti/gradient_sync.hpp>

namespace digits {

// Lines: computing and waiting, then the reduction of each bucket, from its beginning to its end.
[[nodiscard]] std::string timeline(const tutti::GradientSync& sync);

}  // namespace digits
