! Functions and constants of Linux that several tests need.
module system
  use, intrinsic :: iso_c_binding
  implicit none

  interface
    integer(c_int) function close_file(file) bind(c, name='close')
      import
      integer(c_int), value :: file
    end function
    integer(c_int) function getpid() bind(c)
      import
    end function
  end interface
end module
