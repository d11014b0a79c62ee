! Memory of GPUs from Fortran 2018: on real ones, or on the stand-in for the CUDA driver. With the argument "none", of a
! library that was built without CUDA.
module driver
  use, intrinsic :: iso_c_binding
  use checks, only: require
  implicit none
  integer(c_int), parameter :: RTLD_NOW = 2

  interface
    type(c_ptr) function dlopen(name, flags) bind(c)
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: flags
    end function
    type(c_funptr) function dlsym(library, name) bind(c)
      import
      type(c_ptr), value :: library
      character(kind=c_char), intent(in) :: name(*)
    end function
  end interface

  abstract interface
    integer(c_int) function initialize(flags) bind(c)
      import
      integer(c_int), value :: flags
    end function
    integer(c_int) function count_devices(devices) bind(c)
      import
      integer(c_int), intent(inout) :: devices
    end function
    integer(c_int) function retain_context(context, device) bind(c)
      import
      type(c_ptr), intent(out) :: context
      integer(c_int), value :: device
    end function
    integer(c_int) function of_pointer(pointer) bind(c)
      import
      type(c_ptr), value :: pointer
    end function
    integer(c_int) function copy_bytes(to, from, bytes, stream) bind(c)
      import
      type(c_ptr), value :: to, from, stream
      integer(c_size_t), value :: bytes
    end function
  end interface

contains

  type(c_funptr) function driver_function(name)
    character(*), intent(in) :: name
    type(c_ptr) :: library
    library = dlopen('libcuda.so.1'//c_null_char, RTLD_NOW)
    call require(c_associated(library), 'libcuda.so.1 is there')
    driver_function = dlsym(library, name//c_null_char)
    call require(c_associated(driver_function), name)
  end function

  integer(c_int32_t) function own_device(rank)
    integer(c_int32_t), intent(in) :: rank
    procedure(initialize), pointer :: init
    procedure(count_devices), pointer :: count
    integer(c_int) :: devices
    call c_f_procpointer(driver_function('cuInit'), init)
    call c_f_procpointer(driver_function('cuDeviceGetCount'), count)
    call require(init(0) == 0, 'cuInit')
    devices = 0
    call require(count(devices) == 0 .and. devices > 0, 'there is a GPU')
    own_device = mod(rank, devices)
  end function

  ! The primary context of a device, current in this thread.
  subroutine enter(device)
    integer(c_int32_t), intent(in) :: device
    procedure(retain_context), pointer :: retain
    procedure(of_pointer), pointer :: set
    type(c_ptr) :: context
    call c_f_procpointer(driver_function('cuDevicePrimaryCtxRetain'), retain)
    call c_f_procpointer(driver_function('cuCtxSetCurrent'), set)
    call require(retain(context, device) == 0, 'a context')
    call require(set(context) == 0, 'the current context')
  end subroutine

  ! Copies to or from the GPU.
  subroutine move(to, from, bytes)
    type(c_ptr), intent(in) :: to, from
    integer(c_size_t), intent(in) :: bytes
    procedure(copy_bytes), pointer :: copy
    procedure(of_pointer), pointer :: wait
    call c_f_procpointer(driver_function('cuMemcpyAsync'), copy)
    call c_f_procpointer(driver_function('cuStreamSynchronize'), wait)
    call require(copy(to, from, bytes, c_null_ptr) == 0, 'a copy')
    call require(wait(c_null_ptr) == 0, 'the end of a copy')
  end subroutine
end module

subroutine run_cuda()
  use checks
  use driver
  implicit none
  integer, parameter :: n = 1000
  type(c_ptr) :: world
  integer(c_int32_t) :: rank, ranks

  world = new_world()
  rank = tutti_rank(world)
  ranks = tutti_size(world)
  call test_defaults()
  if (command_argument_count() > 1) then
    call test_without()
  else
    call test_attach()
    call test_sum()
  end if
  call tutti_communicator_free(world)

contains

  subroutine test_defaults()
    type(tutti_cuda_options_t) :: options
    options%device = 7
    call tutti_cuda_options_defaults(options, c_sizeof(options))
    call require(options%device == -1 .and. .not. c_associated(options%transport), 'defaults')
  end subroutine

  subroutine test_without()
    type(c_ptr) :: memory
    integer(c_int32_t) :: device
    call require_status(tutti_cuda_attach(world, c_null_ptr), TUTTI_TRANSPORT, 'cuda_attach')
    call require_text('this build has no CUDA')
    call require_status(tutti_cuda_current_device(device), TUTTI_TRANSPORT, 'cuda_current_device')
    call require_status(tutti_cuda_wait(world, c_null_ptr, 0_c_int64_t), TUTTI_TRANSPORT, 'cuda_wait')
    memory = world
    call require_status(tutti_cuda_allocate(world, 8_c_size_t, memory), TUTTI_TRANSPORT, 'cuda_allocate')
    call require(.not. c_associated(memory), 'there is no memory')
  end subroutine

  subroutine test_attach()
    type(tutti_cuda_options_t), target :: options
    character(6, kind=c_char), target :: transport
    integer(c_int32_t) :: device
    call require_status(tutti_cuda_wait(world, c_null_ptr, 0_c_int64_t), TUTTI_INVALID_ARGUMENT, 'no GPU is attached')
    call enter(own_device(rank))
    device = -1
    call require_ok(tutti_cuda_current_device(device), 'cuda_current_device')
    call require(device == own_device(rank), 'the own device')
    call tutti_cuda_options_defaults(options, c_sizeof(options))
    transport = 'smoke'//c_null_char
    options%transport = c_loc(transport)
    call require_status(tutti_cuda_attach(world, c_loc(options)), TUTTI_INVALID_ARGUMENT, 'no such transport')
    call require_text('do not go by ''smoke''')
    transport = 'host'//c_null_char
    call require_ok(tutti_cuda_attach(world, c_loc(options)), 'cuda_attach')
  end subroutine

  subroutine test_sum()
    type(tutti_options_t), target :: options
    type(tutti_call_t) :: sum
    type(c_ptr) :: memory
    real(c_float), target :: values(n)
    integer(c_size_t), parameter :: bytes = 4 * n
    call require_ok(tutti_cuda_allocate(world, bytes, memory), 'cuda_allocate')
    call require(c_associated(tutti_memory_data(memory)), 'there is memory')
    call require(tutti_memory_is_visible(memory) == 0, 'the host does not see it')
    values = real(rank + 1, c_float)
    call move(tutti_memory_data(memory), c_loc(values), bytes)
    sum = sum_of(tutti_memory_data(memory), int(n, c_size_t), TUTTI_F32)
    call require_status(tutti_run(world, sum, c_null_ptr), TUTTI_INVALID_ARGUMENT, 'a call without a stream')
    call tutti_options_defaults(options, c_sizeof(options))
    options%has_stream = 1
    call require_ok(tutti_run(world, sum, c_loc(options)), 'all_reduce')
    call require_ok(tutti_cuda_wait(world, c_null_ptr, 0_c_int64_t), 'cuda_wait')
    call move(c_loc(values), tutti_memory_data(memory), bytes)
    call require(all(nint(values) == ranks * (ranks + 1) / 2), 'the sum')
    call tutti_memory_free(memory)
  end subroutine
end subroutine
