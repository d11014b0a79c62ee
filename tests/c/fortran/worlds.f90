! Worlds, groups, texts and errors of tutti.h from Fortran 2018.
module channels
  use tutti
  implicit none

contains

  ! An exchange over another communicator, as a program's own would be.
  integer(c_int) function exchange(context, own, bytes, all) bind(c)
    type(c_ptr), value :: context, own, all
    integer(c_size_t), value :: bytes
    exchange = tutti_all_gather(context, own, all, bytes, TUTTI_U8)
  end function
end module

subroutine run_worlds()
  use checks
  use channels
  implicit none
  type(c_ptr) :: world
  integer(c_int32_t) :: rank, ranks

  world = new_world()
  rank = tutti_rank(world)
  ranks = tutti_size(world)
  call test_texts()
  call test_groups()
  call test_options()
  call test_channel()
  call test_errors() ! the last one: the communicator fails
  call tutti_communicator_free(world)
  call tutti_communicator_free(c_null_ptr)

contains

  subroutine test_texts()
    character(300, kind=c_char) :: text
    character(6, kind=c_char) :: few
    real(c_float), target :: values(10)
    integer(c_int32_t) :: hosts(ranks)
    integer(c_size_t) :: length, whole
    call require_ok(tutti_describe(world, text, len(text, kind=c_size_t), length), 'describe')
    call require(index(text(:length), 'rank') > 0, 'a line about ranks')
    call require(text(length + 1:length + 1) == c_null_char, 'it ends with a zero byte')
    call require_ok(tutti_describe(world, few, len(few, kind=c_size_t), whole), 'describe')
    call require(whole == length .and. few == text(:5)//c_null_char, 'a text is cut, and its whole length is stored')
    call require_ok(tutti_communicator_waits(world, text, len(text, kind=c_size_t), length), 'waits')
    call require(length == 0 .and. text(1:1) == c_null_char, 'this rank does not wait')
    call require_ok(tutti_address(world, text, len(text, kind=c_size_t), length), 'address')
    call require(text(:length) == '127.0.0.1', 'ranks of one host reach each other at the loopback')
    call require_ok(tutti_hosts(world, hosts), 'hosts')
    call require(all(hosts == hosts(1)) .and. hosts(1) >= 0, 'all are on one host')
    call require_ok(tutti_explain(world, sum_of(c_loc(values), 10_c_size_t, TUTTI_F32), c_null_ptr, text, &
                                  len(text, kind=c_size_t), length), 'explain')
    call require(length > 0 .and. index(text, c_null_char) > 1, 'a choice has reasons')
  end subroutine

  subroutine test_groups()
    type(c_ptr) :: group, part
    integer(c_int32_t), target :: total
    integer :: i
    call require_ok(tutti_group(world, [(ranks - i, i=1, ranks)], int(ranks, c_size_t), 3_c_int64_t, group), 'group')
    call require(tutti_rank(group) == ranks - 1 - rank, 'members are in the given order')
    call tutti_communicator_free(group)
    call require_ok(tutti_split(world, merge(-1, 0, rank == 0), 0, part), 'split')
    call require(c_associated(part) .neqv. rank == 0, 'rank 0 is in no part')
    if (rank == 0) return
    total = 1
    call require_ok(tutti_all_reduce(part, c_loc(total), c_loc(total), 1_c_size_t, TUTTI_I32, TUTTI_SUM), 'in a part')
    call require(total == ranks - 1, 'the sum of a part')
    call require(tutti_size(part) == ranks - 1, 'the size of a part')
    call tutti_communicator_free(part)
  end subroutine

  ! A world of this rank alone.
  subroutine test_options()
    type(tutti_init_options_t), target :: options
    type(tutti_communicator_options_t), target :: inner
    type(c_ptr) :: alone
    options%tls = -1
    call tutti_init_options_defaults(options, c_sizeof(options))
    call require(options%size == c_sizeof(options) .and. options%ranks == 0 .and. .not. c_associated(options%url), &
                 'defaults of init')
    inner%size = 0
    call tutti_communicator_options_defaults(inner, c_sizeof(inner))
    call require(inner%size == c_sizeof(inner) .and. inner%segments_in_flight > 0, 'defaults of a communicator')
    options%ranks = 1
    options%rank = 0
    options%communicator = c_loc(inner)
    call require_ok(tutti_init(c_loc(options), alone), 'init alone')
    call require(tutti_size(alone) == 1, 'one rank')
    call tutti_communicator_free(alone)
    options%rank = 1
    call require_status(tutti_init(c_loc(options), alone), TUTTI_INVALID_ARGUMENT, 'no such rank')
    call require(.not. c_associated(alone), 'no communicator is made')
  end subroutine

  subroutine test_channel()
    character(7, kind=c_char), target :: name
    procedure(tutti_channel_all_gather), pointer :: all_gather
    type(tutti_channel_t) :: channel
    type(c_ptr) :: other
    name = 'a test'//c_null_char
    all_gather => exchange
    channel%size = c_sizeof(channel)
    channel%rank = rank
    channel%ranks = ranks
    channel%name = c_loc(name)
    channel%is_private = 0
    channel%context = world
    channel%all_gather = c_funloc(all_gather)
    call require_ok(tutti_init_over(channel, c_null_ptr, other), 'init_over')
    call require(tutti_rank(other) == rank, 'the same rank')
    call require(tutti_size(other) == ranks, 'the same size')
    call require_ok(tutti_barrier(other), 'a barrier of the other world')
    call tutti_communicator_free(other)
    channel%rank = ranks
    call require_status(tutti_init_over(channel, c_null_ptr, other), TUTTI_INVALID_ARGUMENT, 'no such rank')
    call require_text('0 <= rank < ranks')
  end subroutine

  subroutine test_errors()
    type(tutti_error_t) :: error
    integer(c_int32_t), target :: values(2)
    integer(c_size_t) :: count
    error%size = c_sizeof(error)
    call require_status(tutti_barrier(c_null_ptr), TUTTI_INVALID_ARGUMENT, 'no communicator')
    call tutti_last_error(error)
    call require(error%status == TUTTI_INVALID_ARGUMENT .and. error%rank == -1, 'its error')
    call require(tutti_last_error_text() == tutti_text_of(error%text), 'its text')
    call require_text('communicator is NULL')
    if (ranks == 1) return
    values = 0
    count = merge(1, 2, rank == 0)
    call require_status(tutti_all_reduce(world, c_loc(values), c_loc(values), count, TUTTI_I32, TUTTI_SUM), &
                        TUTTI_MISMATCH, 'rank 0 has another count')
    call tutti_last_error(error)
    call require(error%status == TUTTI_MISMATCH .and. error%cause == TUTTI_MISMATCH, 'its code')
    call require_status(tutti_barrier(world), TUTTI_MISMATCH, 'the communicator stays failed')
  end subroutine
end subroutine
