! GradientSync of tutti.h from Fortran 2018.
subroutine run_gradients()
  use checks
  implicit none
  integer, parameter :: layers = 3, n = 1000
  integer(c_int64_t), parameter :: second = 1000000000
  character(10, kind=c_char), parameter :: names(layers) = ['embedding'//c_null_char, 'hidden   '//c_null_char, &
                                                            'head     '//c_null_char]
  character(10, kind=c_char), target :: own_names(layers) = names
  real(c_float), target :: values(n, layers)
  type(tutti_parameter_t) :: parameters(layers)
  type(c_ptr) :: world
  integer(c_int32_t) :: rank, ranks
  real :: mean

  world = new_world()
  rank = tutti_rank(world)
  ranks = tutti_size(world)
  mean = real(ranks - 1) / 2
  call describe()
  call test_plan()
  call test_steps()
  call test_accumulated()
  call test_state()
  call test_views_and_trace()
  call tutti_communicator_free(world)

contains

  subroutine describe()
    integer :: i
    do i = 1, layers
      call tutti_parameter_defaults(parameters(i), c_sizeof(parameters(i)))
      call require(parameters(i)%size == c_sizeof(parameters(i)), 'defaults of a parameter')
      parameters(i)%name = c_loc(own_names(i))
      parameters(i)%data = c_loc(values(1, i))
      parameters(i)%count = n
    end do
  end subroutine

  function new_sync(options) result(sync)
    type(c_ptr), intent(in) :: options
    type(c_ptr) :: sync
    call require_ok(tutti_make_gradient_sync(world, parameters, int(layers, c_size_t), options, sync), 'make')
  end function

  ! Gradients become ready from the last layer to the first; C counts layers from 0.
  subroutine go_backward(sync, value)
    type(c_ptr), intent(in) :: sync
    integer, intent(in) :: value
    integer(c_size_t) :: i
    do i = layers, 1, -1
      values(:, i) = real(value + i, c_float)
      call tutti_gradient_ready(sync, i - 1)
    end do
  end subroutine

  logical function is_close(x, y)
    real, intent(in) :: x, y
    is_close = abs(x - y) < 1e-5
  end function

  subroutine test_plan()
    type(tutti_gradient_options_t), target :: options
    type(c_ptr) :: sync, bucket
    integer(c_size_t), pointer :: in_bucket(:)
    integer(c_size_t) :: members
    call tutti_gradient_options_defaults(options, c_sizeof(options))
    call require(options%size == c_sizeof(options) .and. options%bucket_bytes > 0, 'defaults')
    options%order = TUTTI_ORDER_REVERSED
    sync = new_sync(c_loc(options))
    call require(tutti_gradient_plan_hash(sync) /= 0, 'a plan has a hash')
    call require(tutti_gradient_bucket_count(sync) >= 1, 'a plan has buckets')
    call require_ok(tutti_gradient_bucket(sync, 0_c_size_t, bucket, members), 'bucket')
    call require(members >= 1, 'a bucket has parameters')
    call c_f_pointer(bucket, in_bucket, [members])
    call require(in_bucket(1) == layers - 1, 'the last layer is in the first bucket')
    call require_status(tutti_gradient_bucket(sync, 99_c_size_t, bucket, members), TUTTI_INVALID_ARGUMENT, 'no bucket')
    call require(.not. c_associated(tutti_gradient_view(sync, 0_c_size_t)), 'gradients stay where they are')
    call tutti_gradient_sync_free(sync)
    call tutti_gradient_sync_free(c_null_ptr)
  end subroutine

  subroutine test_steps()
    type(tutti_gradient_options_t), target :: options
    type(tutti_step_report_t) :: report
    type(c_ptr) :: sync
    integer :: step
    call tutti_gradient_options_defaults(options, c_sizeof(options))
    options%norm = 1
    sync = new_sync(c_loc(options))
    report%size = c_sizeof(report)
    do step = 1, 3
      call go_backward(sync, rank)
      call require_ok(tutti_gradient_wait(sync, report), 'wait')
      call require(report%step == step .and. report%active == ranks, 'the report')
      call require(is_close(minval(values(:, 3)), mean + 3) .and. is_close(maxval(values(:, 3)), mean + 3), 'the mean')
      call require(report%norm > 0, 'the norm')
    end do
    call go_backward(sync, 0)
    call tutti_gradient_ready(sync, 1_c_size_t)
    call require_status(tutti_gradient_wait(sync, report), TUTTI_INVALID_ARGUMENT, 'ready twice')
    call go_backward(sync, rank)
    call require_status(tutti_gradient_synchronize(sync, second), TUTTI_INVALID_ARGUMENT, 'synchronize within a step')
    call require_ok(tutti_gradient_wait(sync, report), 'the step after one that failed')
    call require(is_close(values(1, 1), mean + 1), 'the mean')
    call require_ok(tutti_gradient_synchronize(sync, second), 'there is no stream to wait for')
    call tutti_gradient_sync_free(sync)
  end subroutine

  ! A gradient that was accumulated is ready when the program waits.
  subroutine test_accumulated()
    type(tutti_step_report_t) :: report
    type(c_ptr) :: sync
    integer(c_size_t) :: i
    sync = new_sync(c_null_ptr)
    report%size = c_sizeof(report)
    values = real(rank, c_float)
    do i = 1, layers - 1
      call tutti_gradient_ready(sync, i)
    end do
    call tutti_gradient_accumulated(sync, 0_c_size_t)
    call require_ok(tutti_gradient_wait(sync, report), 'wait')
    call require(is_close(values(1, 1), mean), 'the mean of what was accumulated')
    call tutti_gradient_sync_free(sync)
  end subroutine

  subroutine test_state()
    type(c_ptr) :: sync
    integer(c_int64_t) :: steps
    integer(c_size_t), parameter :: count = layers
    sync = new_sync(c_null_ptr)
    values = 1
    values(5, 1) = real(rank, c_float)
    if (ranks > 1) call require_status(tutti_verify_state(sync, parameters, count), TUTTI_INVALID_ARGUMENT, 'differ')
    call require_ok(tutti_broadcast_state(sync, parameters, count, ranks - 1), 'broadcast_state')
    call require(nint(values(5, 1)) == ranks - 1, 'the root''s values')
    call require_ok(tutti_verify_state(sync, parameters, count), 'verify_state')
    values(1, 2) = real(rank, c_float)
    call require_ok(tutti_average_buffers(sync, parameters, count), 'average_buffers')
    call require(is_close(values(1, 2), mean), 'the mean')
    steps = 77
    call require_ok(tutti_gradient_join(sync, steps), 'join')
    call require(steps == 0, 'all joined at once')
    call tutti_gradient_sync_free(sync)
  end subroutine

  subroutine test_views_and_trace()
    type(tutti_gradient_options_t), target :: options
    type(tutti_step_report_t) :: report
    type(c_ptr) :: sync
    real(c_float), pointer :: view(:)
    character(1000) :: path
    integer(c_size_t) :: i
    call tutti_gradient_options_defaults(options, c_sizeof(options))
    options%storage = TUTTI_STORAGE_VIEWS
    options%record = 2
    do i = 1, layers
      parameters(i)%data = c_null_ptr
    end do
    sync = new_sync(c_loc(options))
    do i = 0, layers - 1
      call c_f_pointer(tutti_gradient_view(sync, i), view, [n])
      view = real(rank, c_float)
      call tutti_gradient_ready(sync, i)
    end do
    report%size = c_sizeof(report)
    call require_ok(tutti_gradient_wait(sync, report), 'wait')
    call c_f_pointer(tutti_gradient_view(sync, 1_c_size_t), view, [n])
    call require(is_close(view(n), mean), 'the mean in a view')
    call require(command_argument_count() == 2, 'usage: gradients TRACE')
    call get_command_argument(2, path)
    call require_ok(tutti_write_trace(sync, trim(path)//c_null_char), 'write_trace')
    call require_trace(trim(path))
    call tutti_gradient_sync_free(sync)
  end subroutine

  subroutine require_trace(path)
    character(*), intent(in) :: path
    character(1) :: first
    integer :: unit
    if (rank > 0) return
    open (newunit=unit, file=path, action='read', status='old')
    read (unit, '(a)') first
    close (unit)
    call require(first == '{', 'the trace is JSON')
  end subroutine
end subroutine
