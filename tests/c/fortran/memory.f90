! Memory of tutti.h that ranks see, allocated and imported, from Fortran 2018.
module files
  use system
  implicit none
  integer(c_int), parameter :: PROT_READ_WRITE = 3, MAP_SHARED = 1, MFD_CLOEXEC = 1

  interface
    integer(c_int) function memfd_create(name, flags) bind(c)
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: flags
    end function
    integer(c_int) function ftruncate(file, bytes) bind(c)
      import
      integer(c_int), value :: file
      integer(c_long), value :: bytes
    end function
    type(c_ptr) function mmap(address, bytes, protection, flags, file, offset) bind(c)
      import
      type(c_ptr), value :: address
      integer(c_size_t), value :: bytes
      integer(c_int), value :: protection, flags, file
      integer(c_long), value :: offset
    end function
    integer(c_int) function munmap(address, bytes) bind(c)
      import
      type(c_ptr), value :: address
      integer(c_size_t), value :: bytes
    end function
  end interface
end module

subroutine run_memory()
  use checks
  use files
  implicit none
  integer, parameter :: n = 300000
  integer(c_size_t), parameter :: bytes = 4 * n
  type(c_ptr) :: world
  integer(c_int32_t) :: rank, ranks

  world = new_world()
  rank = tutti_rank(world)
  ranks = tutti_size(world)
  call test_allocation()
  call test_sums()
  call test_wrong_arguments()
  call tutti_communicator_free(world)

contains

  subroutine test_allocation()
    type(c_ptr) :: allocated
    integer(c_int8_t), pointer :: values(:)
    call require_ok(tutti_allocate(world, 64_c_size_t, allocated), 'allocate')
    call c_f_pointer(tutti_memory_data(allocated), values, [64])
    call require(all(values == 0), 'memory is zeroed')
    call require(tutti_memory_is_visible(allocated) == 1, 'ranks of one host see it')
    call tutti_memory_free(allocated)
    call tutti_memory_free(c_null_ptr)
  end subroutine

  subroutine map_new_file(file, address)
    integer(c_int), intent(out) :: file
    type(c_ptr), intent(out) :: address
    file = memfd_create('test'//c_null_char, MFD_CLOEXEC)
    call require(file >= 0, 'memfd_create')
    call require(ftruncate(file, int(bytes, c_long)) == 0, 'ftruncate')
    address = mmap(c_null_ptr, bytes, PROT_READ_WRITE, MAP_SHARED, file, 0_c_long)
    call require(transfer(address, 0_c_intptr_t) /= -1, 'mmap')
  end subroutine

  subroutine test_sums()
    type(c_ptr) :: imported, address
    type(tutti_options_t), target :: options
    real(c_float), pointer :: values(:)
    integer(c_int) :: file
    integer :: i
    call map_new_file(file, address)
    call c_f_pointer(address, values, [n])
    call require_ok(tutti_memory_import(world, file, 0_c_int64_t, address, bytes, imported), 'memory_import')
    call require(close_file(file) == 0, 'the file is not used any more')
    call require(c_associated(tutti_memory_data(imported), address), 'its address')
    call require(tutti_memory_is_visible(imported) == 1, 'ranks of one host see it')
    values = [(real(rank + mod(i, 5), c_float), i=1, n)]
    call tutti_options_defaults(options, c_sizeof(options))
    options%visible = 1
    call require_ok(tutti_run(world, sum_of(address, int(n, c_size_t), TUTTI_F32), c_loc(options)), 'all_reduce')
    call require(all(nint(values) == [(ranks * (ranks - 1) / 2 + ranks * mod(i, 5), i=1, n)]), 'the sum')
    call tutti_memory_free(imported)
    call require(munmap(address, bytes) == 0, 'munmap')
  end subroutine

  subroutine test_wrong_arguments()
    type(c_ptr) :: imported, address
    integer(c_int) :: file
    call map_new_file(file, address)
    call require_status(tutti_memory_import(world, merge(-1, file, rank == ranks - 1), 0_c_int64_t, address, bytes, &
                                            imported), TUTTI_INVALID_ARGUMENT, 'the last rank has no file')
    call require_text('cannot import memory: descriptor -1')
    call require(.not. c_associated(imported), 'no memory is made')
    call require(munmap(address, bytes) == 0, 'munmap')
    call require(close_file(file) == 0, 'close')
  end subroutine
end subroutine
