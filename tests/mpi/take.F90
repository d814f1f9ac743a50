! SPDX-License-Identifier: BSD-3-Clause
!
! Collectives from Fortran that Tutti does: in place, and with an operation of the program; with
! PERSISTENT also persistent ones. FORM is the interface: 1 for mpif.h, 2 for the module mpi, 3 for
! mpi_f08.
#if FORM == 3
#define HANDLE(KIND) type(KIND)
#else
#define HANDLE(KIND) integer
#endif
module operations
contains
    ! Joins numbers by their digits, modulo a prime: an element is a power of ten and a number. This
    ! does not commute.
    subroutine join(a, b, n, kind)
#if FORM == 3
        use mpi_f08
        use, intrinsic :: iso_c_binding
        type(c_ptr), value :: a, b
        type(MPI_Datatype) :: kind
        integer :: n
        integer, pointer :: x(:, :), y(:, :)
        call c_f_pointer(a, x, [2, n / 2])
        call c_f_pointer(b, y, [2, n / 2])
        call work(x, y, n / 2)
#else
        integer :: n, kind
        integer :: a(2, n / 2), b(2, n / 2)
        call work(a, b, n / 2)
#endif
    end subroutine
    subroutine work(x, y, n)
        integer :: n, x(2, n), y(2, n), i
        do i = 1, n
            y(2, i) = mod(x(2, i) * y(1, i) + y(2, i), 10007)
            y(1, i) = mod(x(1, i) * y(1, i), 10007)
        end do
    end subroutine
end module

program take
    use operations
#if FORM == 2
    use mpi
#elif FORM == 3
    use mpi_f08
#endif
#if FORM == 2 && defined PERSISTENT
    use mpi_ext
#elif FORM == 3 && defined PERSISTENT
    use mpi_f08_ext
#endif
    implicit none
#if FORM == 1
    include 'mpif.h'
#endif
#if FORM == 1 && defined PERSISTENT
    include 'mpif-ext.h'
#endif
    HANDLE(MPI_Op) :: op
    integer :: code, me, p, i, turn
    integer, allocatable :: pieces(:), mine(:), digits(:, :)
    logical :: yes(2)
    complex :: z

    call MPI_Init(code)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, code)
    call MPI_Comm_size(MPI_COMM_WORLD, p, code)
    allocate (pieces(2 * p), mine(2), digits(2, 8))
    do turn = 1, 3
        call gathers
        call reductions
    end do
#ifdef PERSISTENT
    call prepared
#endif
    call MPI_Finalize(code)
contains
    subroutine gathers
        pieces = -1
        mine = [10 * me, 10 * me + 1]
        pieces(2 * me + 1:2 * me + 2) = mine
        call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, pieces, 2, MPI_INTEGER, MPI_COMM_WORLD, code)
        call check(all(pieces == expected()))
        pieces = 0
        if (me == 0) then
            pieces(1:2) = mine
            call MPI_Gather(MPI_IN_PLACE, 2, MPI_INTEGER, pieces, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
            call check(all(pieces == expected()))
            call MPI_Scatter(pieces, 2, MPI_INTEGER, MPI_IN_PLACE, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
        else
            call MPI_Gather(mine, 2, MPI_INTEGER, pieces, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
            mine = -1
            call MPI_Scatter(pieces, 2, MPI_INTEGER, mine, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
            call check(mine(1) == 10 * me .and. mine(2) == 10 * me + 1)
        end if
        pieces = [(100 * me + i, i = 1, 2 * p)]
        call MPI_Alltoall(MPI_IN_PLACE, 2, MPI_INTEGER, pieces, 2, MPI_INTEGER, MPI_COMM_WORLD, code)
        do i = 0, p - 1
            call check(pieces(2 * i + 1) == 100 * i + 2 * me + 1 .and. pieces(2 * i + 2) == 100 * i + 2 * me + 2)
        end do
    end subroutine

    subroutine reductions
        integer :: want(2), r
        yes = [me == 0, .true.]
        call MPI_Allreduce(MPI_IN_PLACE, yes, 2, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, code)
        call check(yes(2) .and. (yes(1) .eqv. p == 1))
        z = cmplx(me, -me)
        call MPI_Scan(MPI_IN_PLACE, z, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, code)
        call check(z == cmplx(me * (me + 1) / 2, -me * (me + 1) / 2))
        call MPI_Op_create(join, .false., op, code)
        digits(1, :) = 10
        digits(2, :) = me + 1
        call MPI_Allreduce(MPI_IN_PLACE, digits, 16, MPI_INTEGER, op, MPI_COMM_WORLD, code)
        want = [1, 0]
        do r = 1, p
            want = [mod(want(1) * 10, 10007), mod(want(2) * 10 + r, 10007)]
        end do
        call check(all(digits(1, :) == want(1)) .and. all(digits(2, :) == want(2)))
        call MPI_Op_free(op, code)
    end subroutine

#ifdef PERSISTENT
    ! A sum, a sum in place and a bcast, started one by one and together.
    subroutine prepared
        HANDLE(MPI_Request) :: calls(3)
        integer, asynchronous :: sent(2), sums(2), both(2), told(2)
        integer :: round
        call MPIX_Allreduce_init(sent, sums, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, calls(1), code)
        call MPIX_Allreduce_init(MPI_IN_PLACE, both, 2, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &
            calls(2), code)
        call MPIX_Bcast_init(told, 2, MPI_INTEGER, p - 1, MPI_COMM_WORLD, MPI_INFO_NULL, calls(3), code)
        do round = 1, 4
            sent = [me, round]
            both = [me * round, -me]
            told = merge(100 * round, -1, me == p - 1)
            if (mod(round, 2) == 0) then
                call MPI_Startall(3, calls, code)
                call MPI_Waitall(3, calls, MPI_STATUSES_IGNORE, code)
            else
                do i = 1, 3
                    call MPI_Start(calls(i), code)
                end do
                do i = 3, 1, -1
                    call MPI_Wait(calls(i), MPI_STATUS_IGNORE, code)
                end do
            end if
            call check(all(sums == [p * (p - 1) / 2, p * round]))
            call check(all(both == [(p - 1) * round, 0]))
            call check(all(told == 100 * round))
        end do
        do i = 1, 3
            call MPI_Request_free(calls(i), code)
            call check(calls(i) == MPI_REQUEST_NULL)
        end do
    end subroutine
#endif

    function expected()
        integer :: expected(2 * p)
        expected = [(10 * ((i - 1) / 2) + mod(i - 1, 2), i = 1, 2 * p)]
    end function

    subroutine check(holds)
        logical, intent(in) :: holds
        if (.not. holds) call MPI_Abort(MPI_COMM_WORLD, 1, code)
    end subroutine
end program
