/// @file
/// Worlds within one process, on every transport that can live there.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <tutti/communicator.hpp>

#include "walk.hpp"

namespace tutti::matrix {

/// The transports of one process: their names in the table.
inline const std::vector<std::string> kInside{"sim", "shm", "tcp", "hybrid"};

/// Runs a body on every rank of a world, and expects that nothing went wrong on any.
/// @param transport one of kInside. @param size number of ranks. @param body what a rank does.
void run_inside(const std::string& transport, int size,
                const std::function<Report(Communicator&)>& body);

}  // namespace tutti::matrix
