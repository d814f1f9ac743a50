/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of the MPI functions that libtutti_mpi.so exports. The exported functions (stub.c),
 * their numbers (shim.h), the struct of the host's functions (host.h) and the functions that count
 * and take calls (backend.c) are all expanded from it.
 *
 * A row is one collective. Its blocking, nonblocking and persistent functions, with counts of type
 * int and, in MPI 4, MPI_Count, are derived from it:
 *
 *     ROW(F, NAME, LOWER, PARAMETERS, ARGUMENTS, FACT, ROLES)
 *
 * ROW is the macro that derives functions from the row (TT_MPI_ROW_...). NAME is the name of the
 * collective in its blocking function (Bcast in MPI_Bcast). LOWER is its name in the nonblocking
 * function, where it follows an I (bcast in MPI_Ibcast). FACT is the function of backend.c that
 * says what a call of this collective moves, and ROLES are the arguments of that function. COUNT
 * and DISPLACEMENT are the types of counts and displacements. F(NAME, PARAMETERS, ARGUMENTS, FACT,
 * ROLES) is expanded for each function that is derived from the row.
 *
 * The table names types of MPI, but includes no mpi.h: stub.c defines these types as machine words.
 */
#ifndef TT_MPI_FUNCTIONS_H
#define TT_MPI_FUNCTIONS_H

/* clang-format off */

/* The parameters (P) and arguments (A) that several collectives have in common. */
#define TT_MPI_P_ONE(COUNT) (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, \
    void *recvbuf, COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm)
#define TT_MPI_A_ONE (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)
#define TT_MPI_P_ROOT(COUNT) (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, \
    void *recvbuf, COUNT recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
#define TT_MPI_A_ROOT (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)
#define TT_MPI_P_GATHERED(COUNT, DISPLACEMENT) (const void *sendbuf, COUNT sendcount, \
    MPI_Datatype sendtype, void *recvbuf, const COUNT recvcounts[], const DISPLACEMENT displs[], \
    MPI_Datatype recvtype, MPI_Comm comm)
#define TT_MPI_A_GATHERED \
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm)
#define TT_MPI_P_EACH(COUNT, DISPLACEMENT) (const void *sendbuf, const COUNT sendcounts[], \
    const DISPLACEMENT sdispls[], MPI_Datatype sendtype, void *recvbuf, const COUNT recvcounts[], \
    const DISPLACEMENT rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
#define TT_MPI_A_EACH \
    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)
#define TT_MPI_P_TYPES(COUNT, DISPLACEMENT) (const void *sendbuf, const COUNT sendcounts[], \
    const DISPLACEMENT sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, \
    const COUNT recvcounts[], const DISPLACEMENT rdispls[], const MPI_Datatype recvtypes[], \
    MPI_Comm comm)
#define TT_MPI_A_TYPES \
    (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm)
#define TT_MPI_P_REDUCE(COUNT) (const void *sendbuf, void *recvbuf, COUNT count, \
    MPI_Datatype type, MPI_Op op, MPI_Comm comm)
#define TT_MPI_A_REDUCE (sendbuf, recvbuf, count, type, op, comm)

/* The barrier has no counts, and so no function with counts of type MPI_Count. */
#define TT_MPI_BARRIER(ROW, F) ROW(F, Barrier, barrier, (MPI_Comm comm), (comm), nothing, (comm))

#define TT_MPI_MEMBERS(ROW, F, COUNT, DISPLACEMENT) \
    ROW(F, Bcast, bcast, \
        (void *buffer, COUNT count, MPI_Datatype type, int root, MPI_Comm comm), \
        (buffer, count, type, root, comm), bcast, (count, type, root, comm)) \
    ROW(F, Gather, gather, TT_MPI_P_ROOT(COUNT), TT_MPI_A_ROOT, \
        gather, (sendbuf, sendcount, sendtype, recvcount, recvtype, root, comm)) \
    ROW(F, Gatherv, gatherv, (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, \
        void *recvbuf, const COUNT recvcounts[], const DISPLACEMENT displs[], \
        MPI_Datatype recvtype, int root, MPI_Comm comm), \
        (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm), \
        gather, (sendbuf, sendcount, sendtype, TT_MPI_MINE(recvcounts, sendbuf, comm), recvtype, \
        root, comm)) \
    ROW(F, Scatter, scatter, TT_MPI_P_ROOT(COUNT), TT_MPI_A_ROOT, \
        scatter, (recvbuf, recvcount, recvtype, sendcount, sendtype, root, comm)) \
    ROW(F, Scatterv, scatterv, (const void *sendbuf, const COUNT sendcounts[], \
        const DISPLACEMENT displs[], MPI_Datatype sendtype, void *recvbuf, COUNT recvcount, \
        MPI_Datatype recvtype, int root, MPI_Comm comm), \
        (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm), \
        scatter, (recvbuf, recvcount, recvtype, TT_MPI_MINE(sendcounts, recvbuf, comm), sendtype, \
        root, comm)) \
    ROW(F, Allgather, allgather, TT_MPI_P_ONE(COUNT), TT_MPI_A_ONE, \
        allgather, (sendbuf, sendcount, sendtype, recvcount, recvtype, comm)) \
    ROW(F, Allgatherv, allgatherv, TT_MPI_P_GATHERED(COUNT, DISPLACEMENT), TT_MPI_A_GATHERED, \
        allgather, (sendbuf, sendcount, sendtype, TT_MPI_MINE(recvcounts, sendbuf, comm), \
        recvtype, comm)) \
    ROW(F, Alltoall, alltoall, TT_MPI_P_ONE(COUNT), TT_MPI_A_ONE, \
        alltoall, (sendbuf, sendcount, sendtype, recvcount, recvtype, comm)) \
    ROW(F, Alltoallv, alltoallv, TT_MPI_P_EACH(COUNT, DISPLACEMENT), TT_MPI_A_EACH, \
        alltoallv, (sendbuf, TT_MPI_LIST(sendcounts), sendtype, TT_MPI_LIST(recvcounts), recvtype, \
        comm)) \
    ROW(F, Alltoallw, alltoallw, TT_MPI_P_TYPES(COUNT, DISPLACEMENT), TT_MPI_A_TYPES, \
        alltoallw, (sendbuf, TT_MPI_LIST(sendcounts), sendtypes, TT_MPI_LIST(recvcounts), \
        recvtypes, comm)) \
    ROW(F, Reduce, reduce, (const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type, \
        MPI_Op op, int root, MPI_Comm comm), \
        (sendbuf, recvbuf, count, type, op, root, comm), reduce, (count, type, op, root, comm)) \
    ROW(F, Allreduce, allreduce, TT_MPI_P_REDUCE(COUNT), TT_MPI_A_REDUCE, \
        allreduce, (count, type, op, comm)) \
    ROW(F, Reduce_scatter, reduce_scatter, (const void *sendbuf, void *recvbuf, \
        const COUNT recvcounts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm), \
        (sendbuf, recvbuf, recvcounts, type, op, comm), \
        reduce_scatter, (TT_MPI_LIST(recvcounts), type, op, comm)) \
    ROW(F, Reduce_scatter_block, reduce_scatter_block, (const void *sendbuf, void *recvbuf, \
        COUNT recvcount, MPI_Datatype type, MPI_Op op, MPI_Comm comm), \
        (sendbuf, recvbuf, recvcount, type, op, comm), \
        reduce_scatter_block, (recvcount, type, op, comm)) \
    ROW(F, Scan, scan, TT_MPI_P_REDUCE(COUNT), TT_MPI_A_REDUCE, \
        allreduce, (count, type, op, comm)) \
    ROW(F, Exscan, exscan, TT_MPI_P_REDUCE(COUNT), TT_MPI_A_REDUCE, \
        allreduce, (count, type, op, comm))

#define TT_MPI_NEIGHBORS(ROW, F, COUNT, DISPLACEMENT) \
    ROW(F, Neighbor_allgather, neighbor_allgather, TT_MPI_P_ONE(COUNT), TT_MPI_A_ONE, \
        neighbor_allgather, (sendcount, sendtype, comm)) \
    ROW(F, Neighbor_allgatherv, neighbor_allgatherv, TT_MPI_P_GATHERED(COUNT, DISPLACEMENT), \
        TT_MPI_A_GATHERED, neighbor_allgather, (sendcount, sendtype, comm)) \
    ROW(F, Neighbor_alltoall, neighbor_alltoall, TT_MPI_P_ONE(COUNT), TT_MPI_A_ONE, \
        neighbor_alltoall, (sendcount, sendtype, comm)) \
    ROW(F, Neighbor_alltoallv, neighbor_alltoallv, TT_MPI_P_EACH(COUNT, DISPLACEMENT), \
        TT_MPI_A_EACH, neighbor_alltoallv, (TT_MPI_LIST(sendcounts), sendtype, comm)) \
    ROW(F, Neighbor_alltoallw, neighbor_alltoallw, TT_MPI_P_TYPES(COUNT, MPI_Aint), \
        TT_MPI_A_TYPES, neighbor_alltoallw, (TT_MPI_LIST(sendcounts), sendtypes, comm))

#define TT_MPI_COUNTED(ROW, F, COUNT, DISPLACEMENT) \
    TT_MPI_MEMBERS(ROW, F, COUNT, DISPLACEMENT) TT_MPI_NEIGHBORS(ROW, F, COUNT, DISPLACEMENT)

/* The functions that are derived from a row. MPI 3 has the blocking and the nonblocking function,
 * and MPI 4 added the others. */
#define TT_MPI_OPEN(...) __VA_ARGS__
#define TT_MPI_ROW_BLOCKING(F, NAME, LOWER, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    F(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES)
#define TT_MPI_ROW_NONBLOCKING(F, NAME, LOWER, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    F(I##LOWER, (TT_MPI_OPEN PARAMETERS, MPI_Request *request), \
      (TT_MPI_OPEN ARGUMENTS, request), FACT, ROLES)
#define TT_MPI_ROW_PERSISTENT(F, NAME, LOWER, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    F(NAME##_init, (TT_MPI_OPEN PARAMETERS, MPI_Info info, MPI_Request *request), \
      (TT_MPI_OPEN ARGUMENTS, info, request), FACT, ROLES)
#define TT_MPI_ROW_BLOCKING_C(F, NAME, LOWER, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    F(NAME##_c, PARAMETERS, ARGUMENTS, FACT, ROLES)
#define TT_MPI_ROW_NONBLOCKING_C(F, NAME, LOWER, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    F(I##LOWER##_c, (TT_MPI_OPEN PARAMETERS, MPI_Request *request), \
      (TT_MPI_OPEN ARGUMENTS, request), FACT, ROLES)
#define TT_MPI_ROW_PERSISTENT_C(F, NAME, LOWER, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    F(NAME##_init_c, (TT_MPI_OPEN PARAMETERS, MPI_Info info, MPI_Request *request), \
      (TT_MPI_OPEN ARGUMENTS, info, request), FACT, ROLES)

/* The collective functions of MPI 3 (_3), and those that MPI 4 added (_4). IMMEDIATE_4 has the
 * added functions that begin a collective, PREPARED_4 those that prepare a persistent one, and
 * COLLECTIVES_4 has both.
 */
#define TT_MPI_COLLECTIVES_3(F) \
    TT_MPI_BARRIER(TT_MPI_ROW_BLOCKING, F) \
    TT_MPI_BARRIER(TT_MPI_ROW_NONBLOCKING, F) \
    TT_MPI_COUNTED(TT_MPI_ROW_BLOCKING, F, int, int) \
    TT_MPI_COUNTED(TT_MPI_ROW_NONBLOCKING, F, int, int)
#define TT_MPI_IMMEDIATE_4(F) \
    TT_MPI_COUNTED(TT_MPI_ROW_BLOCKING_C, F, MPI_Count, MPI_Aint) \
    TT_MPI_COUNTED(TT_MPI_ROW_NONBLOCKING_C, F, MPI_Count, MPI_Aint)
#define TT_MPI_PREPARED_4(F) \
    TT_MPI_BARRIER(TT_MPI_ROW_PERSISTENT, F) \
    TT_MPI_COUNTED(TT_MPI_ROW_PERSISTENT, F, int, int) \
    TT_MPI_COUNTED(TT_MPI_ROW_PERSISTENT_C, F, MPI_Count, MPI_Aint)
#define TT_MPI_COLLECTIVES_4(F) TT_MPI_IMMEDIATE_4(F) TT_MPI_PREPARED_4(F)

/* The persistent collectives of MPI 4 as Open MPI 4 has them: their names begin with MPIX. */
#define TT_MPI_COLLECTIVES_X(F) \
    TT_MPI_BARRIER(TT_MPI_ROW_PERSISTENT, F) TT_MPI_COUNTED(TT_MPI_ROW_PERSISTENT, F, int, int)

/* The collectives that Tutti takes. */
#define TT_MPI_TAKEN_3(F) \
    TT_MPI_BARRIER(TT_MPI_ROW_BLOCKING, F) TT_MPI_MEMBERS(TT_MPI_ROW_BLOCKING, F, int, int)
#define TT_MPI_TAKEN_4(F) TT_MPI_MEMBERS(TT_MPI_ROW_BLOCKING_C, F, MPI_Count, MPI_Aint)

/* The nonblocking functions that Tutti takes if the progress of the host pushes its calls: F(NAME,
 * STARTED, PARAMETERS, ARGUMENTS, FACT, ROLES), where STARTED is the name of the nonblocking
 * function, and NAME the name of the blocking one, whose PARAMETERS and ARGUMENTS follow. */
#define TT_MPI_ROW_STARTED(F, NAME, LOWER, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    F(NAME, I##LOWER, PARAMETERS, ARGUMENTS, FACT, ROLES)
#define TT_MPI_ROW_STARTED_C(F, NAME, LOWER, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    F(NAME##_c, I##LOWER##_c, PARAMETERS, ARGUMENTS, FACT, ROLES)
#define TT_MPI_STARTED_3(F) \
    TT_MPI_BARRIER(TT_MPI_ROW_STARTED, F) TT_MPI_MEMBERS(TT_MPI_ROW_STARTED, F, int, int)
#define TT_MPI_STARTED_4(F) TT_MPI_MEMBERS(TT_MPI_ROW_STARTED_C, F, MPI_Count, MPI_Aint)

/* The persistent functions that Tutti takes, of MPI 4 (_4) and of Open MPI's extension (_X):
 * F(NAME, PREPARED, PARAMETERS, ARGUMENTS, FACT, ROLES), where PREPARED stands for the persistent
 * function (Bcast_init for MPI_Bcast_init, X_Bcast_init for MPIX_Bcast_init), and NAME is the name
 * of the blocking one, whose PARAMETERS and ARGUMENTS follow. */
#define TT_MPI_ROW_KEPT(F, NAME, LOWER, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    F(NAME, NAME##_init, PARAMETERS, ARGUMENTS, FACT, ROLES)
#define TT_MPI_ROW_KEPT_C(F, NAME, LOWER, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    F(NAME##_c, NAME##_init_c, PARAMETERS, ARGUMENTS, FACT, ROLES)
#define TT_MPI_ROW_KEPT_X(F, NAME, LOWER, PARAMETERS, ARGUMENTS, FACT, ROLES) \
    F(NAME, X_##NAME##_init, PARAMETERS, ARGUMENTS, FACT, ROLES)
#define TT_MPI_KEPT_4(F) \
    TT_MPI_BARRIER(TT_MPI_ROW_KEPT, F) TT_MPI_MEMBERS(TT_MPI_ROW_KEPT, F, int, int) \
    TT_MPI_MEMBERS(TT_MPI_ROW_KEPT_C, F, MPI_Count, MPI_Aint)
#define TT_MPI_KEPT_X(F) \
    TT_MPI_BARRIER(TT_MPI_ROW_KEPT_X, F) TT_MPI_MEMBERS(TT_MPI_ROW_KEPT_X, F, int, int)

/* The functions that begin and end the use of MPI and of a communicator, those that start and free
 * persistent requests, the one that frees an operation, and those that attach and detach a buffer
 * for the program's messages: F(NAME, PARAMETERS, ARGUMENTS, , ). MPI 4 also has functions for
 * buffers with a size of type MPI_Count. */
#define TT_MPI_LIFE_3(F) \
    F(Init, (int *argc, char ***argv), (argc, argv), , ) \
    F(Init_thread, (int *argc, char ***argv, int required, int *provided), \
      (argc, argv, required, provided), , ) \
    F(Finalize, (void), (), , ) \
    F(Comm_free, (MPI_Comm *comm), (comm), , ) \
    F(Comm_disconnect, (MPI_Comm *comm), (comm), , ) \
    F(Start, (MPI_Request *request), (request), , ) \
    F(Startall, (int count, MPI_Request requests[]), (count, requests), , ) \
    F(Request_free, (MPI_Request *request), (request), , ) \
    F(Op_free, (MPI_Op *op), (op), , ) \
    F(Buffer_attach, (void *buffer, int size), (buffer, size), , ) \
    F(Buffer_detach, (void *buffer, int *size), (buffer, size), , )
#define TT_MPI_LIFE_4(F) \
    F(Buffer_attach_c, (void *buffer, MPI_Count size), (buffer, size), , ) \
    F(Buffer_detach_c, (void *buffer, MPI_Count *size), (buffer, size), , )

/* The functions that attach a buffer for messages and those that detach it: F(ATTACH, DETACH,
 * COUNT). */
#define TT_MPI_BUFFERS_3(F) F(Buffer_attach, Buffer_detach, int)
#define TT_MPI_BUFFERS_4(F) F(Buffer_attach_c, Buffer_detach_c, MPI_Count)

/* Functions of the host that Tutti calls and does not export itself: F(NAME). Those of
 * TT_MPI_NEEDED_4 are called only over a host that has MPI 4. */
#define TT_MPI_NEEDED_3(F) \
    F(Type_size_x) F(Type_get_envelope) F(Type_get_name) F(Comm_size) F(Comm_rank) \
    F(Comm_remote_size) F(Comm_test_inter) F(Comm_get_name) F(Get_library_version) F(Topo_test) \
    F(Graph_neighbors_count) F(Cartdim_get) F(Dist_graph_neighbors_count) F(Type_get_extent_x) \
    F(Type_get_true_extent_x) F(Pack) F(Unpack) F(Reduce_local) F(Op_commutative) F(Comm_dup) \
    F(Comm_group) F(Group_size) F(Group_translate_ranks) F(Group_free) F(Comm_call_errhandler) \
    F(Improbe) F(Mrecv) F(Test) F(Query_thread) F(Comm_idup) F(Type_free) F(Grequest_start) \
    F(Grequest_complete) F(Status_set_elements) F(Status_set_cancelled) F(Type_get_contents) \
    F(Isend) F(Send) F(Sendrecv) F(Iprobe) F(Recv_init) F(Comm_create_errhandler) \
    F(Comm_set_errhandler) F(Errhandler_free) F(Comm_get_attr) F(Comm_get_errhandler) \
    F(Comm_get_parent) F(Publish_name) F(Lookup_name) F(Type_contiguous) F(Type_create_struct) \
    F(Type_commit)
#define TT_MPI_NEEDED_4(F) F(Type_get_envelope_c) F(Type_get_contents_c)

/* All exported functions whose names begin with MPI_; those that begin with MPIX_ are in
 * TT_MPI_COLLECTIVES_X. */
#define TT_MPI_FUNCTIONS(F) \
    TT_MPI_LIFE_3(F) TT_MPI_LIFE_4(F) TT_MPI_COLLECTIVES_3(F) TT_MPI_COLLECTIVES_4(F)
/* clang-format on */

#endif
