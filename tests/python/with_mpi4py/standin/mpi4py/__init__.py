"""Stands in for mpi4py in its own tests: its calls, by the public interface of tutti."""
