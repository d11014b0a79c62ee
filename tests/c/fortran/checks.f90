! Checks for tests in Fortran: the first that fails says where, and ends the process.
module checks
  use, intrinsic :: iso_fortran_env, only: error_unit
  use tutti
  implicit none

contains

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    write (error_unit, '(2a)') 'not so: ', what
    error stop
  end subroutine

  subroutine require_status(status, expected, what)
    integer(c_int), intent(in) :: status, expected
    character(*), intent(in) :: what
    if (status == expected) return
    write (error_unit, '(7a)') what, ': ', name_of(status), ' instead of ', name_of(expected), ': ', &
      tutti_last_error_text()
    error stop
  end subroutine

  subroutine require_ok(status, what)
    integer(c_int), intent(in) :: status
    character(*), intent(in) :: what
    call require_status(status, TUTTI_OK, what)
  end subroutine

  ! The text of the last error.
  subroutine require_text(part)
    character(*), intent(in) :: part
    if (index(tutti_last_error_text(), part) > 0) return
    write (error_unit, '(4a)') 'the error does not say ''', part, ''': ', tutti_last_error_text()
    error stop
  end subroutine

  function name_of(status) result(name)
    integer(c_int), intent(in) :: status
    character(:), allocatable :: name
    name = tutti_text_of(tutti_status_name(status))
  end function

  function new_world() result(world)
    type(c_ptr) :: world
    call require_ok(tutti_init(c_null_ptr, world), 'init')
    call require(tutti_size(world) <= 16, 'the test is for up to 16 ranks')
  end function

  ! A communicator of all ranks that a test may fail: all ranks have it, and no failure of it overtakes
  ! what a slow rank still does on the world.
  function communicator_to_fail(world) result(whole)
    type(c_ptr), intent(in) :: world
    type(c_ptr) :: whole
    call require_ok(tutti_split(world, 0, 0, whole), 'split')
    call require_ok(tutti_barrier(world), 'barrier')
  end function

  ! A sum over all ranks, in place.
  function sum_of(data, count, type) result(call)
    type(c_ptr), intent(in) :: data
    integer(c_size_t), intent(in) :: count
    integer(c_int), intent(in) :: type
    type(tutti_call_t) :: call
    call tutti_call_defaults(call, c_sizeof(call))
    call%type = type
    call%in = data
    call%out = data
    call%in_count = count
    call%out_count = count
  end function
end module
