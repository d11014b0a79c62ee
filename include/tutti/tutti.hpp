/// @file
/// All headers of tutti, except `<tutti/mpi.hpp>` for programs with an MPI.
#pragma once

#include <tutti/batch.hpp>
#include <tutti/communicator.hpp>
#include <tutti/import_memory.hpp>
#include <tutti/init.hpp>
