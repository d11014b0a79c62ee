/// @file
/// The functions of MPI that the backend and the engines of the drop-in call, on the types and constants of a family: its mpi.h
/// includes this file last. The signatures are those of MPI 3.1.
#pragma once

using MPI_Comm_copy_attr_function = int(MPI_Comm, int, void*, void*, void*, int*);
using MPI_Comm_delete_attr_function = int(MPI_Comm, int, void*, void*);

extern "C" {
int MPI_Abort(MPI_Comm, int);
int PMPI_Abort(MPI_Comm, int);
int PMPI_Allgather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
int PMPI_Allgatherv(const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype,
                    MPI_Comm);
int PMPI_Allreduce(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
int PMPI_Alltoall(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
int PMPI_Alltoallv(const void*, const int*, const int*, MPI_Datatype, void*, const int*, const int*,
                   MPI_Datatype, MPI_Comm);
int PMPI_Barrier(MPI_Comm);
int PMPI_Bcast(void*, int, MPI_Datatype, int, MPI_Comm);
int PMPI_Cancel(MPI_Request*);
int PMPI_Comm_call_errhandler(MPI_Comm, int);
int MPI_Comm_create_group(MPI_Comm, MPI_Group, int, MPI_Comm*);
int PMPI_Comm_create_group(MPI_Comm, MPI_Group, int, MPI_Comm*);
int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function*, MPI_Comm_delete_attr_function*, int*,
                            void*);
int MPI_Comm_dup(MPI_Comm, MPI_Comm*);
int PMPI_Comm_dup(MPI_Comm, MPI_Comm*);
int MPI_Comm_free(MPI_Comm*);
int PMPI_Comm_free(MPI_Comm*);
int PMPI_Comm_get_attr(MPI_Comm, int, void*, int*);
int PMPI_Comm_group(MPI_Comm, MPI_Group*);
int PMPI_Comm_idup(MPI_Comm, MPI_Comm*, MPI_Request*);
int PMPI_Comm_rank(MPI_Comm, int*);
int PMPI_Comm_remote_size(MPI_Comm, int*);
int PMPI_Comm_set_attr(MPI_Comm, int, void*);
int PMPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler);
int MPI_Comm_size(MPI_Comm, int*);
int PMPI_Comm_size(MPI_Comm, int*);
int MPI_Comm_split(MPI_Comm, int, int, MPI_Comm*);
int PMPI_Comm_test_inter(MPI_Comm, int*);
int PMPI_Error_class(int, int*);
int PMPI_Error_string(int, char*, int*);
int PMPI_Exscan(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Finalize();
int MPI_Finalized(int*);
int PMPI_Finalized(int*);
int PMPI_Gather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm);
int PMPI_Gatherv(const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype, int,
                 MPI_Comm);
int PMPI_Get_address(const void*, MPI_Aint*);
int PMPI_Get_count(const MPI_Status*, MPI_Datatype, int*);
int MPI_Get_library_version(char*, int*);
int PMPI_Get_library_version(char*, int*);
int PMPI_Get_processor_name(char*, int*);
int PMPI_Group_free(MPI_Group*);
int PMPI_Group_incl(MPI_Group, int, const int*, MPI_Group*);
int PMPI_Group_translate_ranks(MPI_Group, int, const int*, MPI_Group, int*);
int PMPI_Iallgather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm,
                    MPI_Request*);
int PMPI_Iallgatherv(const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype,
                     MPI_Comm, MPI_Request*);
int PMPI_Iallreduce(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*);
int PMPI_Ibarrier(MPI_Comm, MPI_Request*);
int MPI_Improbe(int, int, MPI_Comm, int*, MPI_Message*, MPI_Status*);
int PMPI_Improbe(int, int, MPI_Comm, int*, MPI_Message*, MPI_Status*);
int PMPI_Imrecv(void*, int, MPI_Datatype, MPI_Message*, MPI_Request*);
int MPI_Init(int*, char***);
int PMPI_Init(int*, char***);
int MPI_Init_thread(int*, char***, int, int*);
int PMPI_Init_thread(int*, char***, int, int*);
int MPI_Initialized(int*);
int PMPI_Initialized(int*);
int PMPI_Iprobe(int, int, MPI_Comm, int*, MPI_Status*);
int MPI_Irecv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int PMPI_Irecv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int PMPI_Is_thread_main(int*);
int MPI_Isend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int PMPI_Isend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Mrecv(void*, int, MPI_Datatype, MPI_Message*, MPI_Status*);
int PMPI_Mrecv(void*, int, MPI_Datatype, MPI_Message*, MPI_Status*);
int PMPI_Op_commutative(MPI_Op, int*);
int PMPI_Pack(const void*, int, MPI_Datatype, void*, int, int*, MPI_Comm);
int PMPI_Query_thread(int*);
int PMPI_Recv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
int PMPI_Recv_init(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int PMPI_Reduce(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
int PMPI_Reduce_local(const void*, void*, int, MPI_Datatype, MPI_Op);
int PMPI_Reduce_scatter(const void*, void*, const int*, MPI_Datatype, MPI_Op, MPI_Comm);
int PMPI_Reduce_scatter_block(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
int PMPI_Request_free(MPI_Request*);
int PMPI_Request_get_status(MPI_Request, int*, MPI_Status*);
int PMPI_Scan(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
int PMPI_Scatter(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm);
int PMPI_Scatterv(const void*, const int*, const int*, MPI_Datatype, void*, int, MPI_Datatype, int,
                  MPI_Comm);
int PMPI_Send(const void*, int, MPI_Datatype, int, int, MPI_Comm);
int PMPI_Sendrecv(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int,
                  MPI_Comm, MPI_Status*);
int PMPI_Start(MPI_Request*);
int PMPI_Startall(int, MPI_Request*);
int MPI_Test(MPI_Request*, int*, MPI_Status*);
int PMPI_Test(MPI_Request*, int*, MPI_Status*);
int PMPI_Testall(int, MPI_Request*, int*, MPI_Status*);
int PMPI_Testany(int, MPI_Request*, int*, int*, MPI_Status*);
int MPI_Testsome(int, MPI_Request*, int*, int*, MPI_Status*);
int PMPI_Testsome(int, MPI_Request*, int*, int*, MPI_Status*);
int PMPI_Type_commit(MPI_Datatype*);
int PMPI_Type_create_hindexed(int, const int*, const MPI_Aint*, MPI_Datatype, MPI_Datatype*);
int PMPI_Type_dup(MPI_Datatype, MPI_Datatype*);
int PMPI_Type_free(MPI_Datatype*);
int PMPI_Type_get_envelope(MPI_Datatype, int*, int*, int*, int*);
int PMPI_Type_get_extent(MPI_Datatype, MPI_Aint*, MPI_Aint*);
int PMPI_Type_get_name(MPI_Datatype, char*, int*);
int PMPI_Type_get_true_extent(MPI_Datatype, MPI_Aint*, MPI_Aint*);
int PMPI_Type_size(MPI_Datatype, int*);
int PMPI_Unpack(const void*, int, int*, void*, int, MPI_Datatype, MPI_Comm);
int PMPI_Wait(MPI_Request*, MPI_Status*);
int PMPI_Waitall(int, MPI_Request*, MPI_Status*);
int PMPI_Waitany(int, MPI_Request*, int*, MPI_Status*);
int PMPI_Waitsome(int, MPI_Request*, int*, int*, MPI_Status*);
}
