"""The recipe of tutti for Spack: spack repo add packaging/spack; spack install tutti"""
import os

from spack.package import *

try:  # Spack 1.0 and later
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:
    pass


class Tutti(CMakePackage):
    """Collective communication one can prove, measure and read: a library and a command, with or without an MPI."""

    # The sources that this file lies in, until there is a release with an address.
    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("command", default=True, description="Build the tutti command, which loads any MPI at run time")
    variant("mpi", default=False, description="Build tutti::mpi, for programs that have an MPI_Comm")
    variant("openssl", default=True, description="Authenticate and encrypt connections between hosts")
    variant("hwloc", default=True, description="Describe caches and packages of a host")
    variant("shared", default=True, description="Build shared libraries")
    variant("cuda", default=False, description="Build tutti::cuda, for memory of GPUs")
    variant("cuda_arch", default="80,90", values=("80", "90", "100", "120"), multi=True, when="+cuda",
            description="GPUs for which kernels are compiled")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("python@3.11:", type="build")
    depends_on("nlohmann-json@3:", type="build")
    depends_on("cli11@2:", type="build", when="+command")
    depends_on("fmt@9:", when="+command")
    depends_on("expat", when="+command")
    depends_on("openssl@3:", when="+openssl")
    depends_on("hwloc@2:", when="+hwloc")
    depends_on("mpi@3:", when="+mpi")
    depends_on("cuda", when="+cuda")

    conflicts("%gcc@:11", msg="tutti needs C++20, as g++ 12 has it")
    conflicts("%clang@:13", msg="tutti needs C++20, as clang 14 has it")

    def cmake_args(self):
        arguments = [
            self.define("TUTTI_BUILD_TESTS", False),
            self.define_from_variant("TUTTI_BUILD_COMMAND", "command"),
            self.define_from_variant("TUTTI_BUILD_MPI", "mpi"),
            self.define_from_variant("TUTTI_BUILD_OPENSSL", "openssl"),
            self.define_from_variant("TUTTI_BUILD_HWLOC", "hwloc"),
            self.define_from_variant("TUTTI_BUILD_CUDA", "cuda"),
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
        ]
        if self.spec.satisfies("+cuda"):
            arguments.append(self.define_from_variant("TUTTI_CUDA_ARCHITECTURES", "cuda_arch"))
        if self.spec.satisfies("+mpi"):
            # Without a name the wrapper that is first in PATH counts.
            name = "openmpi" if self.spec.satisfies("^[virtuals=mpi] openmpi") else "mpich"
            arguments.append(self.define(f"TUTTI_MPI_{name}_CXX", self.spec["mpi"].mpicxx))
            arguments.append(self.define("TUTTI_MPI", name))
        return arguments

    def setup_run_environment(self, env):
        env.set("TUTTI_ROOT", self.prefix)
        if self.spec.satisfies("+command target=x86_64:"):  # where there is the drop-in
            env.set("TUTTI_MPI_PRELOAD", join_path(self.prefix.lib, "tutti", "libtutti-mpi.so"))
