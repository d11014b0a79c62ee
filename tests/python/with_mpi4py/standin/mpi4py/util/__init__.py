"""The submodules of mpi4py.util that the tests import."""
