! The functions of tutti.h that calls.f90 uses, as a Fortran 2008 module.
module tutti
  use, intrinsic :: iso_c_binding
  implicit none

  enum, bind(c)
    enumerator :: TUTTI_OK = 0, TUTTI_INVALID_ARGUMENT = 1
  end enum
  integer(c_int), parameter :: TUTTI_I32 = 2, TUTTI_F64 = 11
  integer(c_int), parameter :: TUTTI_SUM = 0, TUTTI_MAX = 3

  type, bind(c) :: tutti_error
    integer(c_size_t) :: size
    integer(c_int) :: status, cause
    integer(c_int32_t) :: rank
    integer(c_int64_t) :: call
    type(c_ptr) :: text
  end type

  interface
    integer(c_int) function tutti_init(options, communicator) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: options
      type(c_ptr), intent(out) :: communicator
    end function
    subroutine tutti_communicator_free(communicator) bind(c)
      import :: c_ptr
      type(c_ptr), value :: communicator
    end subroutine
    integer(c_int32_t) function tutti_rank(communicator) bind(c)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: communicator
    end function
    integer(c_int32_t) function tutti_size(communicator) bind(c)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: communicator
    end function
    integer(c_int) function tutti_all_reduce(communicator, in, out, count, type, op) bind(c)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: communicator, in, out
      integer(c_size_t), value :: count
      integer(c_int), value :: type, op
    end function
    integer(c_int) function tutti_broadcast(communicator, inout, count, type, root) bind(c)
      import :: c_int, c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: communicator, inout
      integer(c_size_t), value :: count
      integer(c_int), value :: type
      integer(c_int32_t), value :: root
    end function
    integer(c_int) function tutti_all_gather(communicator, in, out, count, type) bind(c)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: communicator, in, out
      integer(c_size_t), value :: count
      integer(c_int), value :: type
    end function
    integer(c_int) function tutti_barrier(communicator) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: communicator
    end function
    subroutine tutti_last_error(error) bind(c)
      import :: tutti_error
      type(tutti_error), intent(inout) :: error
    end subroutine
  end interface
end module
