// CMake compiles and links this program, and reads from its file which MPI's mpi.h a compiler wrapper leads to. It
// never starts it. The installed package has it too, and finds the MPI of a program in the same way.
#include <mpi.h>

namespace {

#if defined(MPI_ABI)
constexpr char kText[] = "tutti_mpi=standard,the standard ABI of MPI";
#elif defined(OPEN_MPI)
constexpr char kText[] = {'t', 'u', 't', 't', 'i', '_', 'm', 'p', 'i', '=', 'o', 'p', 'e', 'n', 'm', 'p', 'i', ',', 'O',
                          'p', 'e', 'n', ' ', 'M', 'P', 'I', ' ', '0' + OMPI_MAJOR_VERSION, '.', '0' + OMPI_MINOR_VERSION, 0};
#elif defined(I_MPI_VERSION)
constexpr char kText[] = "tutti_mpi=mpich,Intel MPI " I_MPI_VERSION;
#elif defined(MVAPICH_VERSION)
constexpr char kText[] = "tutti_mpi=mpich,MVAPICH " MVAPICH_VERSION;
#elif defined(MVAPICH2_VERSION)
constexpr char kText[] = "tutti_mpi=mpich,MVAPICH " MVAPICH2_VERSION;
#elif defined(CRAY_MPICH_VERSION)
constexpr char kText[] = "tutti_mpi=mpich,Cray MPICH " CRAY_MPICH_VERSION;
#elif defined(MPICH_VERSION)
constexpr char kText[] = "tutti_mpi=mpich,MPICH " MPICH_VERSION;
#elif defined(MPICH_NUMVERSION)
constexpr char kText[] = "tutti_mpi=mpich,a relative of MPICH";
#else
constexpr char kText[] = "tutti_mpi=unknown,unknown";
#endif

}  // namespace

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  MPI_Finalize();
  return kText[argument_count];  // so that the text stays
}
