/// @file
/// Programs that a rank starts: they inherit the variables of its launch, and cannot take its
/// place.
#pragma once

#include <string>

#include <tutti/error.hpp>

#include "config.hpp"

namespace tutti::runtime {

/// @param parent_environment of the process that started this one. @param parent its name for a
/// person. @return a text about inherited variables, such as "; process 7 (sh), which started this
/// one, has the same TUTTI_RANK and TUTTI_SIZE: ...". Empty if this process has no rank, or its
/// parent has another one or none.
[[nodiscard]] std::string inherited_launch_text(const Environment& environment,
                                                const Environment& parent_environment,
                                                const std::string& parent);

/// @param error of a start by the variables of a launcher. @return the error with the text above.
[[nodiscard]] Error with_inherited_launch(const Error& error, const Environment& environment);

}  // namespace tutti::runtime
