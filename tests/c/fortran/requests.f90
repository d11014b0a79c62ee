! Requests, plans, batches and operators of tutti.h from Fortran 2018.
module operators
  use tutti
  implicit none

contains

  ! Multiplies, and counts in its context how often it is called.
  integer(c_int) function multiply(context, left, right, out, count) bind(c)
    type(c_ptr), value :: context, left, right, out
    integer(c_size_t), value :: count
    integer(c_int32_t), pointer :: calls, x(:), y(:), z(:)
    call c_f_pointer(context, calls)
    call c_f_pointer(left, x, [count])
    call c_f_pointer(right, y, [count])
    call c_f_pointer(out, z, [count])
    z = x * y
    calls = calls + 1
    multiply = 0
  end function

  ! As multiply, and says that it has succeeded.
  integer(c_int) function multiply_all(context, left, right, out, count) bind(c)
    type(c_ptr), value :: context, left, right, out
    integer(c_size_t), value :: count
    multiply_all = multiply(context, left, right, out, count)
    call tutti_operator_error(c_null_char)
  end function

  integer(c_int) function fail(context, left, right, out, count) bind(c)
    type(c_ptr), value :: context, left, right, out
    integer(c_size_t), value :: count
    call tutti_operator_error('no such product'//c_null_char)
    fail = merge(1, 0, count == 1 .and. .not. c_associated(context) .and. &
                 c_associated(left) .and. c_associated(right) .and. c_associated(out))
  end function

  subroutine release(context) bind(c)
    type(c_ptr), value :: context
    integer(c_int32_t), pointer :: calls
    call c_f_pointer(context, calls)
    calls = -1
  end subroutine
end module

subroutine run_requests()
  use checks
  use operators
  implicit none
  integer(c_int64_t), parameter :: millisecond = 1000000
  type(c_ptr) :: world
  integer(c_int32_t) :: rank, ranks
  integer(c_int32_t), target :: calls = 0

  world = new_world()
  rank = tutti_rank(world)
  ranks = tutti_size(world)
  call test_requests()
  call test_run_for()
  call test_pending()
  call test_plans()
  call test_pending_plan()
  call test_batches()
  call test_operators()
  call test_failing_operator()
  call tutti_communicator_free(world)

contains

  subroutine test_requests()
    character(5, kind=c_char), target :: algorithm
    type(tutti_options_t), target :: options
    type(c_ptr) :: started(2)
    real(c_float), target :: values(5, 2)
    integer :: i
    algorithm = 'ring'//c_null_char
    call tutti_options_defaults(options, c_sizeof(options))
    options%algorithm = c_loc(algorithm)
    do i = 1, 2
      values(:, i) = real(i, c_float)
      call require_ok(tutti_start(world, sum_of(c_loc(values(1, i)), 5_c_size_t, TUTTI_F32), c_loc(options), &
                                  started(i)), 'start')
    end do
    call require_ok(tutti_wait_all(started, 2_c_size_t), 'wait_all')
    call require(all(nint(values(:, 1)) == ranks) .and. all(nint(values(:, 2)) == 2 * ranks), 'both have run')
    call require_ok(tutti_test(started(1)), 'a request that has ended is done')
    call require_ok(tutti_wait(started(2)), 'waiting for it again')
    do i = 1, 2
      call tutti_request_free(started(i))
    end do
    algorithm = 'rung'//c_null_char
    call require_status(tutti_start(world, sum_of(c_loc(values), 5_c_size_t, TUTTI_F32), c_loc(options), started(1)), &
                        TUTTI_INVALID_ARGUMENT, 'no such algorithm')
    call require(.not. c_associated(started(1)), 'no request is made')
  end subroutine

  subroutine test_run_for()
    integer(c_int32_t), target :: value
    integer(c_int) :: status
    type(c_ptr) :: pending
    value = 1
    status = tutti_run_for(world, sum_of(c_loc(value), 1_c_size_t, TUTTI_I32), c_null_ptr, 1_c_int64_t, pending)
    do while (status == TUTTI_PENDING)
      call require(c_associated(pending), 'a request of the pending call')
      status = tutti_wait_for(pending, millisecond)
    end do
    call require_ok(status, 'run_for')
    call require(value == ranks, 'the sum')
    call tutti_request_free(pending)
  end subroutine

  ! Rank 0 comes late: rank 1 finds the call pending, which fails nothing.
  subroutine test_pending()
    integer(c_int32_t), target :: value
    type(c_ptr) :: request
    if (ranks == 1) return
    value = 1
    if (rank == 0) call require_ok(tutti_recv(world, c_null_ptr, 0_c_size_t, TUTTI_U8, 1, 9), 'rank 1 has waited')
    call require_ok(tutti_start(world, sum_of(c_loc(value), 1_c_size_t, TUTTI_I32), c_null_ptr, request), 'start')
    if (rank == 1) then
      call require_status(tutti_test(request), TUTTI_PENDING, 'rank 0 has not called')
      call require_status(tutti_wait_for(request, 5 * millisecond), TUTTI_PENDING, 'rank 0 has not called yet')
      call require_ok(tutti_send(world, c_null_ptr, 0_c_size_t, TUTTI_U8, 0, 9), 'a message to rank 0')
    end if
    call require_ok(tutti_wait(request), 'wait')
    call require(value == ranks, 'the sum')
    call tutti_request_free(request)
  end subroutine

  ! Rank 0 comes late: rank 1 finds the run pending.
  subroutine test_pending_plan()
    integer(c_int32_t), target :: value
    type(c_ptr) :: plan
    if (ranks == 1) return
    value = 1
    call require_ok(tutti_make_plan(world, sum_of(c_loc(value), 1_c_size_t, TUTTI_I32), c_null_ptr, plan), 'make_plan')
    if (rank == 0) call require_ok(tutti_recv(world, c_null_ptr, 0_c_size_t, TUTTI_U8, 1, 9), 'rank 1 has waited')
    call require_ok(tutti_plan_start(plan, c_null_ptr, c_null_ptr), 'start')
    if (rank == 1) then
      call require_status(tutti_plan_test(plan), TUTTI_PENDING, 'rank 0 has not called')
      call require_status(tutti_plan_wait_for(plan, 5 * millisecond), TUTTI_PENDING, 'rank 0 has not called yet')
      call require_ok(tutti_send(world, c_null_ptr, 0_c_size_t, TUTTI_U8, 0, 9), 'a message to rank 0')
    end if
    call require_ok(tutti_plan_wait(plan), 'wait')
    call require(value == ranks, 'the sum')
    call tutti_plan_free(plan)
  end subroutine

  subroutine test_plans()
    integer(c_int64_t), target :: value, other
    integer(c_int) :: status
    type(c_ptr) :: plan
    integer :: run
    value = 1
    other = 5
    call require_ok(tutti_make_plan(world, sum_of(c_loc(value), 1_c_size_t, TUTTI_I64), c_null_ptr, plan), 'make_plan')
    call require(tutti_text_of(tutti_plan_algorithm(plan)) /= '', 'a plan has an algorithm')
    do run = 1, 3
      call require_ok(tutti_plan_start(plan, c_null_ptr, c_null_ptr), 'start')
      call require_ok(tutti_plan_wait(plan), 'wait')
    end do
    call require(value == int(ranks, c_int64_t)**3, 'the plan has run three times')
    call require_ok(tutti_plan_start(plan, c_loc(other), c_loc(other)), 'start on other buffers')
    status = tutti_plan_wait_for(plan, 1000_c_int64_t)
    do while (status == TUTTI_PENDING)
      status = tutti_plan_test(plan)
    end do
    call require_ok(status, 'test')
    call require(other == 5 * ranks, 'the other buffer')
    call tutti_plan_free(plan)
  end subroutine

  subroutine test_batches()
    integer(c_int32_t), target :: total, most
    total = 1
    most = rank
    call require_ok(tutti_batch_begin(), 'batch_begin')
    call require_ok(tutti_all_reduce(world, c_loc(total), c_loc(total), 1_c_size_t, TUTTI_I32, TUTTI_SUM), 'in a batch')
    call require_ok(tutti_all_reduce(world, c_loc(most), c_loc(most), 1_c_size_t, TUTTI_I32, TUTTI_MAX), 'in a batch')
    call require_ok(tutti_batch_end(), 'batch_end')
    call require(total == ranks .and. most == ranks - 1, 'both have run')
    call require_ok(tutti_batch_begin(), 'batch_begin')
    call require_ok(tutti_all_reduce(world, c_loc(total), c_loc(total), 1_c_size_t, TUTTI_I32, TUTTI_SUM), 'in a batch')
    call tutti_batch_cancel()
    call require(total == ranks, 'a call that was dropped does not run')
    call require_status(tutti_batch_end(), TUTTI_INVALID_ARGUMENT, 'there is no batch')
  end subroutine

  subroutine test_operators()
    integer(c_int32_t), target :: values(4)
    type(tutti_call_t) :: product
    type(c_ptr) :: user_op
    procedure(tutti_combine), pointer :: combine
    procedure(tutti_make_operator_release), pointer :: release_context
    combine => multiply
    release_context => release
    values = 2
    call require_ok(tutti_make_operator(c_funloc(combine), c_loc(calls), 1, c_funloc(release_context), user_op), &
                    'make_operator')
    product = sum_of(c_loc(values), size(values, kind=c_size_t), TUTTI_I32)
    product%op = TUTTI_USER
    product%user_op = user_op
    call require_ok(tutti_run(world, product, c_null_ptr), 'a user''s operator')
    call require(all(values == 2**ranks), 'the product')
    values(1) = calls
    call tutti_operator_free(user_op)
    call require(calls == -1, 'an operator that no call uses is released when it is freed')
    call require_ok(tutti_all_reduce(world, c_loc(values), c_loc(values), 1_c_size_t, TUTTI_I32, TUTTI_MAX), 'max')
    call require(values(1) > 0 .or. ranks == 1, 'some rank has called it')
    combine => multiply_all
    values = 2
    call require_ok(tutti_make_checked_operator(c_funloc(combine), c_loc(calls), 1, c_null_funptr, user_op), &
                    'make_checked_operator')
    product%user_op = user_op
    call require_ok(tutti_run(world, product, c_null_ptr), 'a checked operator')
    call require(all(values == 2**ranks), 'the checked product')
    call tutti_operator_free(user_op)
  end subroutine

  subroutine test_failing_operator()
    integer(c_int32_t), target :: value
    type(tutti_call_t) :: product
    type(c_ptr) :: whole, user_op
    procedure(tutti_combine), pointer :: combine
    if (ranks == 1) return
    whole = communicator_to_fail(world)
    combine => fail
    call require_ok(tutti_make_operator(c_funloc(combine), c_null_ptr, 1, c_null_funptr, user_op), 'make_operator')
    product = sum_of(c_loc(value), 1_c_size_t, TUTTI_I32)
    product%op = TUTTI_USER
    product%user_op = user_op
    call require_status(tutti_run(whole, product, c_null_ptr), TUTTI_ABORTED, 'an operator that fails')
    call require_text('no such product')
    call tutti_operator_free(user_op)
    call tutti_communicator_free(whole)
  end subroutine
end subroutine
