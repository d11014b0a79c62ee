! Requests of tutti.h in an event loop, from Fortran 2018: tutti_request_notify.
module eventfds
  use system
  implicit none
  integer(c_int), parameter :: EFD_NONBLOCK = 2048
  integer(c_short), parameter :: POLLIN = 1

  type, bind(c) :: pollfd
    integer(c_int) :: fd
    integer(c_short) :: events, revents
  end type

  interface
    integer(c_int) function eventfd(initial, flags) bind(c)
      import
      integer(c_int), value :: initial, flags
    end function
    integer(c_int) function poll(wanted, count, milliseconds) bind(c)
      import
      type(pollfd), intent(inout) :: wanted
      integer(c_long), value :: count
      integer(c_int), value :: milliseconds
    end function
    integer(c_size_t) function read_count(file, count, bytes) bind(c, name='read')
      import
      integer(c_int), value :: file
      integer(c_int64_t), intent(inout) :: count
      integer(c_size_t), value :: bytes
    end function
  end interface
end module

subroutine run_events()
  use checks
  use eventfds
  implicit none
  integer(c_int), parameter :: patience = 300000 ! milliseconds for what must happen
  type(c_ptr) :: world
  integer(c_int32_t) :: rank, ranks

  world = new_world()
  rank = tutti_rank(world)
  ranks = tutti_size(world)
  call test_late()
  call test_withdrawn()
  call tutti_communicator_free(world)

contains

  logical function readable_within(file, milliseconds)
    integer(c_int), intent(in) :: file, milliseconds
    type(pollfd) :: wanted
    wanted = pollfd(file, POLLIN, 0_c_short)
    readable_within = poll(wanted, 1_c_long, milliseconds) == 1
  end function

  integer(c_int64_t) function notices_of(file)
    integer(c_int), intent(in) :: file
    notices_of = 0
    call require(read_count(file, notices_of, 8_c_size_t) == 8, 'a notice to read')
  end function

  ! Rank 0 comes late. The others only wait for the eventfd, and call nothing.
  subroutine test_late()
    integer(c_int32_t), target :: value
    integer(c_int) :: file
    type(c_ptr) :: request
    file = eventfd(0, EFD_NONBLOCK)
    call require(file >= 0, 'an eventfd')
    value = 1
    if (rank == 0 .and. ranks > 1) &
      call require_ok(tutti_recv(world, c_null_ptr, 0_c_size_t, TUTTI_U8, 1, 9), 'rank 1 has found nothing')
    call require_ok(tutti_start(world, sum_of(c_loc(value), 1_c_size_t, TUTTI_I32), c_null_ptr, request), 'start')
    call require_ok(tutti_request_notify(request, file), 'notify')
    if (rank == 1) then
      call require(.not. readable_within(file, 20), 'no notice before the end')
      call require_ok(tutti_send(world, c_null_ptr, 0_c_size_t, TUTTI_U8, 0, 9), 'a message to rank 0')
    end if
    call require(readable_within(file, patience), 'a notice of the end')
    call require(notices_of(file) == 1, 'one notice')
    call require_ok(tutti_test(request), 'the call has ended')
    call require(value == ranks, 'the sum')
    call tutti_request_free(request)
    call require(close_file(file) == 0, 'close')
  end subroutine

  subroutine test_withdrawn()
    integer(c_int32_t), target :: value
    integer(c_int) :: file
    type(c_ptr) :: request
    file = eventfd(0, EFD_NONBLOCK)
    value = 1
    if (rank > 0) call require_ok(tutti_recv(world, c_null_ptr, 0_c_size_t, TUTTI_U8, 0, 9), 'rank 0 wants no notice')
    call require_ok(tutti_start(world, sum_of(c_loc(value), 1_c_size_t, TUTTI_I32), c_null_ptr, request), 'start')
    call require_status(tutti_request_notify(request, 99999), TUTTI_INVALID_ARGUMENT, 'no descriptor')
    if (rank == 0 .and. ranks > 1) then ! no other rank has called
      call require_ok(tutti_request_notify(request, file), 'notify')
      call require_ok(tutti_request_notify(request, -1), 'notify none')
      call send_to_others()
    end if
    call require_ok(tutti_wait(request), 'wait')
    call require(value == ranks, 'the sum')
    call tutti_request_free(request)
    call require(.not. readable_within(file, 0), 'no notice')
    call require(close_file(file) == 0, 'close')
  end subroutine

  subroutine send_to_others()
    integer(c_int32_t) :: other
    do other = 1, ranks - 1
      call require_ok(tutti_send(world, c_null_ptr, 0_c_size_t, TUTTI_U8, other, 9), 'a message')
    end do
  end subroutine
end subroutine
