"""MPIs for tests of the build: a compiler wrapper that prints flags, and an mpi.h without a library."""
import pathlib
import shlex

FUNCTIONS = "inline int MPI_Init(int*, char***) { return 0; }\ninline int MPI_Finalize() { return 0; }\n"

# The macros in mpi.h, the question that the wrapper answers, and what it prints beside the include folder.
KINDS = {
    "openmpi5": ("#define OPEN_MPI 1\n#define OMPI_MAJOR_VERSION 5\n#define OMPI_MINOR_VERSION 0\n", "-show",
                 "c++ -pthread -Wl,-rpath -Wl,{folder}/lib -Wl,-rpath -Wl,{folder}/lib64"),
    "mpich": ('#define MPICH_VERSION "4.3.0"\n', "-show", "c++ -Wl,-z,relro"),
    "intel": ('#define MPICH_VERSION "3.4a2"\n#define I_MPI_VERSION "2021.18"\n', "-show",
              'icpx -L"{folder}/lib/release" -Xlinker -rpath -Xlinker "{folder}/lib/release" -ldl'),
    "mvapich": ('#define MPICH_VERSION "3.4a3"\n#define MVAPICH_VERSION "4.0"\n', "-show", "g++"),
    "cray": ("#define MPICH_NUMVERSION 30400002\n", "--cray-print-opts=all", "-D__CRAYXE"),
    "abi": ("#ifndef MPI_ABI\n#error compile with -DMPI_ABI\n#endif\n", "-show", "c++ -DMPI_ABI"),
}


def write_executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def write_mpi(folder, kind, wrapper="mpicxx", launcher=None, breaks=False):
    """Writes an MPI of a kind. Returns the path of its wrapper. If it `breaks`, programs do not compile."""
    macros, question, words = KINDS[kind]
    (folder / "include").mkdir(parents=True)
    text = "#error broken\n" if breaks else macros + FUNCTIONS
    (folder / "include" / "mpi.h").write_text("#pragma once\n" + text, encoding="utf-8")
    line = words.format(folder=folder) + f" -I{folder}/include"
    if launcher:
        # Tests of the build start no ranks.
        write_executable(folder / "bin" / launcher, f"#!/bin/sh\ntouch {shlex.quote(str(folder))}/started\nexit 1\n")
    return write_executable(folder / "bin" / wrapper, f"""#!/bin/sh
if [ "$1" = "{question}" ] && [ $# = 1 ]; then echo {shlex.quote(line)}; exit 0; fi
case "$1" in -show*|--*) echo "unknown option $1" >&2; exit 1;; esac
exec c++ -I{shlex.quote(str(folder))}/include "$@"
""")


def paths_of(*folders):
    """PATH with the folders first, and the system's after them."""
    return ":".join([*(str(pathlib.Path(folder) / "bin") for folder in folders), "/usr/bin", "/bin"])
