// The tested function: part of a program that runs under mpirun, srun or `tutti run`.
#pragma once

#include <vector>

#include <tutti/tutti.hpp>

// Divides each rank's part of a vector by the Euclidean norm of the whole vector, and returns that.
double normalise(tutti::Communicator& world, std::vector<double>& part);
