/// @file
/// Everything a user of tutti needs; `<tutti/mpi.hpp>` adds the way in from MPI.
#pragma once

#include <tutti/batch.hpp>
#include <tutti/communicator.hpp>
#include <tutti/init.hpp>
