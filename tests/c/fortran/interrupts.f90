! Signals in calls of tutti.h that wait, from Fortran 2018: tutti_interrupt_by.
module signals
  use system
  implicit none
  integer(c_int), parameter :: SIGALRM = 14, ITIMER_REAL = 0
  integer(c_int32_t), volatile, target :: interrupted = 0

  type, bind(c) :: itimerval
    integer(c_long) :: interval_seconds, interval_microseconds, seconds, microseconds
  end type

  interface
    type(c_funptr) function signal(number, handler) bind(c)
      import
      integer(c_int), value :: number
      type(c_funptr), value :: handler
    end function
    integer(c_int) function setitimer(which, new, old) bind(c)
      import
      integer(c_int), value :: which
      type(itimerval), intent(in) :: new
      type(c_ptr), value :: old
    end function
  end interface

contains

  subroutine interrupt(number) bind(c)
    integer(c_int), value :: number
    if (number == SIGALRM) interrupted = 1
  end subroutine
end module

subroutine run_interrupts()
  use checks
  use signals
  implicit none
  type(c_ptr) :: world

  call require(transfer(signal(SIGALRM, c_funloc(interrupt)), 0_c_intptr_t) /= -1, 'signal')
  world = new_world()
  call tutti_interrupt_by(c_loc(interrupted))
  call test_init()
  call test_probe()
  call tutti_interrupt_by(c_null_ptr)
  call test_none()
  call tutti_communicator_free(world)

contains

  ! A signal comes within the next call.
  subroutine interrupt_soon()
    interrupted = 0
    call require(setitimer(ITIMER_REAL, itimerval(0, 0, 0, 100000), c_null_ptr) == 0, 'setitimer')
  end subroutine

  ! The other rank does not come.
  subroutine test_init()
    type(tutti_init_options_t), target :: options
    character(64, kind=c_char), target :: url
    type(c_ptr) :: other
    write (url, '(a, i0, a)') 'unix://fortran-interrupts-', getpid(), c_null_char
    call tutti_init_options_defaults(options, c_sizeof(options))
    options%url = c_loc(url)
    options%rank = 0
    options%ranks = 2
    call interrupt_soon()
    call require_status(tutti_init(c_loc(options), other), TUTTI_ABORTED, 'init without the other rank')
    call require_text('interrupted while it waited')
    call require(.not. c_associated(other), 'no communicator is made')
  end subroutine

  ! No message comes. The communicator stays usable.
  subroutine test_probe()
    type(tutti_arrival_t) :: arrival
    arrival%size = c_sizeof(arrival)
    call interrupt_soon()
    call require_status(tutti_probe(world, TUTTI_ANY_RANK, 0, TUTTI_FOREVER, arrival), TUTTI_ABORTED, 'probe')
    interrupted = 0
    call require_ok(tutti_barrier(world), 'a probe fails nothing')
  end subroutine

  ! A flag that was withdrawn interrupts nothing.
  subroutine test_none()
    interrupted = 1
    call require_ok(tutti_barrier(world), 'barrier')
  end subroutine
end subroutine
