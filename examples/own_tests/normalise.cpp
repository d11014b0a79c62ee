#include "normalise.hpp"

#include <cmath>

double normalise(tutti::Communicator& world, std::vector<double>& part) {
  double squares = 0;
  for (const double element : part) squares += element * element;
  const double norm = std::sqrt(world.all_reduce(squares));
  for (double& element : part) element /= norm;
  return norm;
}
