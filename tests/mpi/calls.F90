! SPDX-License-Identifier: BSD-3-Clause
!
! Calls some collectives from Fortran, in place too, and checks the results. FORM is the interface:
! 1 for mpif.h, 2 for the module mpi, 3 for mpi_f08.
program calls
#if FORM == 2
    use mpi
#elif FORM == 3
    use mpi_f08
#endif
    implicit none
#if FORM == 1
    include 'mpif.h'
#endif
#if FORM == 3
    type(MPI_Comm) :: half
    type(MPI_Request) :: request
#else
    integer :: half, request
#endif
    integer :: code, me, p, number, i
    integer, allocatable :: from(:), into(:)
    double precision :: sums(3)

    call MPI_Init(code)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, code)
    call MPI_Comm_size(MPI_COMM_WORLD, p, code)

    number = me
    call MPI_Bcast(number, 1, MPI_INTEGER, p - 1, MPI_COMM_WORLD, code)
    call check(number == p - 1)

    sums = [1d0, 2d0, dble(me)]
    call MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, code)
    call check(sums(1) == p .and. sums(2) == 2 * p .and. sums(3) == dble(p * (p - 1) / 2))

    allocate (from(p), into(p))
    from = [(100 * me + i, i = 1, p)]
    call MPI_Alltoall(from, 1, MPI_INTEGER, into, 1, MPI_INTEGER, MPI_COMM_WORLD, code)
    call check(all(into == [(100 * i + me + 1, i = 0, p - 1)]))

    call MPI_Comm_split(MPI_COMM_WORLD, mod(me, 2), me, half, code)
    call MPI_Ibarrier(half, request, code)
    call MPI_Wait(request, MPI_STATUS_IGNORE, code)
    call MPI_Barrier(half, code)
    call MPI_Comm_free(half, code)
    call MPI_Finalize(code)
contains
    subroutine check(holds)
        logical, intent(in) :: holds
        if (.not. holds) call MPI_Abort(MPI_COMM_WORLD, 1, code)
    end subroutine
end program
