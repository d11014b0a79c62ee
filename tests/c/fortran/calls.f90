! Collectives and messages of tutti.h from Fortran 2018.
subroutine run_calls()
  use checks
  implicit none
  type(c_ptr) :: world
  integer(c_int32_t) :: rank, ranks

  call test_versions()
  world = new_world()
  rank = tutti_rank(world)
  ranks = tutti_size(world)
  call test_sums()
  call test_sections()
  call test_blocks()
  call test_large_counts()
  call test_bool()
  call test_messages()
  call test_probe()
  call tutti_communicator_free(world)

contains

  subroutine test_versions()
    call require(index(tutti_text_of(tutti_version()), '.') > 0, 'a version')
    call require(tutti_interface_version() == 1, 'the interface''s version')
    call require(tutti_text_of(tutti_status_name(TUTTI_PEER_DEAD)) == 'peer_dead', 'a status has a name')
    call require(tutti_text_of(c_null_ptr) == '', 'the text of no string is empty')
  end subroutine

  subroutine test_sums()
    real(c_double), target :: x(1000), y(1000)
    integer(c_int32_t), target :: own(2), got(2)
    integer :: i
    x = [(rank + i, i=1, size(x))]
    call require_ok(tutti_all_reduce(world, c_loc(x), c_loc(y), size(y, kind=c_size_t), TUTTI_F64, TUTTI_SUM), &
                    'all_reduce')
    call require(all(nint(y) == [(ranks * (ranks - 1) / 2 + ranks * i, i=1, size(y))]), 'all_reduce sums')
    call require_status(tutti_all_reduce(world, c_null_ptr, c_loc(y), 1_c_size_t, TUTTI_F64, TUTTI_MAX), &
                        TUTTI_INVALID_ARGUMENT, 'a call without input')
    own = [rank, -rank]
    got = -7
    call require_ok(tutti_reduce(world, c_loc(own), c_loc(got), 2_c_size_t, TUTTI_I32, TUTTI_MAX, ranks - 1), 'reduce')
    if (rank == ranks - 1) call require(all(got == [ranks - 1, 0]), 'reduce returns the maximum')
    call require_ok(tutti_scan(world, c_loc(own), c_loc(got), 1_c_size_t, TUTTI_I32, TUTTI_SUM), 'scan')
    call require(got(1) == rank * (rank + 1) / 2, 'scan sums up to the own rank')
    got = -7
    call require_ok(tutti_exscan(world, c_loc(own), c_loc(got), 1_c_size_t, TUTTI_I32, TUTTI_SUM), 'exscan')
    call require(got(1) == merge(-7, rank * (rank - 1) / 2, rank == 0), 'exscan sums those before')
    call require_ok(tutti_barrier(world), 'barrier')
  end subroutine

  ! Arrays of other types and ranks, and sections: those in pieces are copied in and out by a contiguous argument.
  subroutine test_sections()
    real(c_double), target :: a(4, 5), expected(4, 5)
    complex(c_double), target :: one
    integer :: i
    a = reshape([(real(i, c_double), i=1, size(a))], shape(a))
    expected = a
    expected(:, 3) = ranks * a(:, 3)
    call require_ok(tutti_all_reduce(world, tutti_location(a(:, 3)), tutti_location(a(:, 3)), 4_c_size_t, TUTTI_F64, &
                                     TUTTI_SUM), 'a column')
    call require(all(abs(a - expected) < 0.5), 'only the column is reduced')
    expected(2, :) = ranks * a(2, :)
    call sum_contiguous(a(2, :))
    call require(all(abs(a - expected) < 0.5), 'only the row is reduced')
    expected(1:4:2, 1) = ranks * a(1:4:2, 1)
    call sum_contiguous(a(1:4:2, 1))
    call require(all(abs(a - expected) < 0.5), 'only every other element is reduced')
    one = (1, 2)
    call require_ok(tutti_all_reduce(world, tutti_location(one), tutti_location(one), 1_c_size_t, TUTTI_C64, &
                                     TUTTI_SUM), 'a scalar')
    call require(nint(aimag(one)) == 2 * ranks, 'the sum of a scalar')
  end subroutine

  subroutine sum_contiguous(x)
    real(c_double), target, contiguous, intent(inout) :: x(:)
    call require_ok(tutti_all_reduce(world, c_loc(x), tutti_location(x), size(x, kind=c_size_t), TUTTI_F64, TUTTI_SUM), &
                    'a contiguous argument')
  end subroutine

  ! Elements of all ranks that no memory has.
  subroutine test_large_counts()
    integer(c_int32_t), target :: x(16)
    integer(c_size_t) :: n
    n = huge(n) / ranks
    call require_status(tutti_all_to_all(world, c_loc(x), c_loc(x), n, TUTTI_I32), TUTTI_INVALID_ARGUMENT, 'all_to_all')
    call require_text('exceed the address space')
    call require_status(tutti_all_gather(world, c_loc(x), c_loc(x), -1_c_size_t, TUTTI_I32), TUTTI_INVALID_ARGUMENT, &
                        'all_gather of less than zero elements')
    call require_text('exceed the address space')
  end subroutine

  subroutine test_blocks()
    integer(c_int32_t), target :: own(2, 0:ranks - 1), got(2, 0:ranks - 1), block(2), root_value
    integer :: i
    root_value = rank
    call require_ok(tutti_broadcast(world, c_loc(root_value), 1_c_size_t, TUTTI_I32, ranks - 1), 'broadcast')
    call require(root_value == ranks - 1, 'broadcast sends the root''s')
    own = reshape([(100 * rank + i, i=0, 2 * ranks - 1)], shape(own))
    call require_ok(tutti_scatter(world, c_loc(own), c_loc(block), 2_c_size_t, TUTTI_I32, 0), 'scatter')
    call require(all(block == [2 * rank, 2 * rank + 1]), 'scatter sends a block')
    got = -7
    call require_ok(tutti_gather(world, c_loc(own), c_loc(got), 2_c_size_t, TUTTI_I32, 0), 'gather')
    if (rank == 0) call require(all(got(1, :) == [(100 * i, i=0, ranks - 1)]), 'gather gets all blocks')
    call require_ok(tutti_all_gather(world, c_loc(own), c_loc(got), 2_c_size_t, TUTTI_I32), 'all_gather')
    call require(all(got(2, :) == [(100 * i + 1, i=0, ranks - 1)]), 'all_gather gets all blocks')
    call require_ok(tutti_all_to_all(world, c_loc(own), c_loc(got), 2_c_size_t, TUTTI_I32), 'all_to_all')
    call require(all(got(1, :) == [(100 * i + 2 * rank, i=0, ranks - 1)]), 'all_to_all sends blocks')
    call require_ok(tutti_reduce_scatter(world, c_loc(own), c_loc(block), 2_c_size_t, TUTTI_I32, TUTTI_SUM), &
                    'reduce_scatter')
    call require(block(1) == 50 * ranks * (ranks - 1) + 2 * ranks * rank, 'reduce_scatter sums a block')
  end subroutine

  ! A logical(c_bool) is a byte, as an element of TUTTI_BOOL.
  subroutine test_bool()
    logical(c_bool), target :: values(2)
    values = [.true._c_bool, logical(rank == 0, c_bool)]
    call require_ok(tutti_all_reduce(world, c_loc(values), c_loc(values), 2_c_size_t, TUTTI_BOOL, TUTTI_SUM), &
                    'sum of bool')
    call require(count(values) == 2, 'the sum of bool is or')
  end subroutine

  subroutine test_messages()
    type(tutti_call_t) :: exchange
    real(c_double), target :: sent, received
    if (ranks == 1) return
    sent = rank
    received = -1
    call tutti_call_defaults(exchange, c_sizeof(exchange))
    exchange%collective = TUTTI_COLLECTIVE_SENDRECV
    exchange%type = TUTTI_F64
    exchange%in = c_loc(sent)
    exchange%in_count = 1
    exchange%out = c_loc(received)
    exchange%out_count = 1
    exchange%to = modulo(rank + 1, ranks)
    exchange%from = modulo(rank - 1, ranks)
    call require_ok(tutti_run(world, exchange, c_null_ptr), 'sendrecv')
    call require(nint(received) == exchange%from, 'sendrecv receives from the left')
    call require_ok(tutti_reject_call(world, exchange, 'not again'//c_null_char), 'a call that all ranks reject')
    if (rank == 0) call require_ok(tutti_send(world, c_loc(sent), 1_c_size_t, TUTTI_F64, 1, 3), 'send')
    if (rank /= 1) return
    call require_ok(tutti_recv(world, c_loc(received), 1_c_size_t, TUTTI_F64, 0, 3), 'recv')
    call require(nint(received) == 0, 'recv gets what was sent')
  end subroutine

  subroutine test_probe()
    type(tutti_arrival_t) :: arrival
    integer(c_int16_t), target :: values(3)
    arrival%size = c_sizeof(arrival)
    call require_status(tutti_probe(world, TUTTI_ANY_RANK, 5, 0_c_int64_t, arrival), TUTTI_PENDING, 'no message')
    if (ranks == 1) return
    values = [1_c_int16_t, 2_c_int16_t, 3_c_int16_t]
    if (rank == 0) call require_ok(tutti_send(world, c_loc(values), 3_c_size_t, TUTTI_I16, 1, 8), 'send')
    if (rank /= 1) return
    call require_ok(tutti_probe(world, TUTTI_ANY_RANK, 8, TUTTI_FOREVER, arrival), 'probe')
    call require(arrival%from == 0 .and. arrival%tag == 8 .and. arrival%bytes == 6, 'probe finds the message')
    values = 0
    call require_ok(tutti_recv(world, c_loc(values), 3_c_size_t, TUTTI_I16, 0, 8), 'recv')
    call require(all(values == [1, 2, 3]), 'the message')
  end subroutine
end subroutine
