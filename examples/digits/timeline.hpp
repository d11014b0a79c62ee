// A step as a picture of characters.
#pragma once

#include <string>

#include <tutti/gradient_sync.hpp>

namespace digits {

// Lines: computing and waiting, and below them each bucket from when its reduction began to its
// end.
[[nodiscard]] std::string timeline(const tutti::GradientSync& sync);

}  // namespace digits
