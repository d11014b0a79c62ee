! tutti.h for Fortran 2018. Written by c/fortran/write_module.py from the headers: change those, then run it.
!
! Names are those of C, with two exceptions, since Fortran ignores case: the struct tutti_x is type(tutti_x_t), and the
! enumerators of tutti_collective begin with TUTTI_COLLECTIVE_. The headers describe what the functions do.
!
! The address of a buffer is tutti_location(x), which rejects arrays that lie in pieces; c_loc accepts them.
! A handle, a buffer, a pointer to options (c_null_ptr: the defaults), and each pointer in a type is a type(c_ptr). An
! unsigned integer is a signed one of the same size. A string that is passed ends with c_null_char.
module tutti
  use, intrinsic :: iso_c_binding
  implicit none

  ! As tutti::GradientOrder.
  integer(c_int), parameter :: TUTTI_ORDER_REVERSED = 0
  integer(c_int), parameter :: TUTTI_ORDER_OBSERVED = 1
  integer(c_int), parameter :: TUTTI_ORDER_NEGOTIATED = 2
  integer(c_int), parameter :: TUTTI_ORDER_AUTOMATIC = 3

  ! As tutti::GradientStorage.
  integer(c_int), parameter :: TUTTI_STORAGE_COPIES = 0
  integer(c_int), parameter :: TUTTI_STORAGE_VIEWS = 1
  integer(c_int), parameter :: TUTTI_STORAGE_FLAT = 2

  ! As tutti::UnusedGradients.
  integer(c_int), parameter :: TUTTI_UNUSED_ERROR = 0
  integer(c_int), parameter :: TUTTI_UNUSED_ZEROS = 1
  integer(c_int), parameter :: TUTTI_UNUSED_DETECT = 2

  ! The way objects go.
  integer(c_int), parameter :: TUTTI_OBJECT_BROADCAST = 0
  integer(c_int), parameter :: TUTTI_OBJECT_SCATTER = 1
  integer(c_int), parameter :: TUTTI_OBJECT_GATHER = 2
  integer(c_int), parameter :: TUTTI_OBJECT_ALL_GATHER = 3
  integer(c_int), parameter :: TUTTI_OBJECT_ALL_TO_ALL = 4
  integer(c_int), parameter :: TUTTI_OBJECT_SEND = 5
  integer(c_int), parameter :: TUTTI_OBJECT_RECV = 6

  ! Outcome of a call. The values are those of tutti::ErrorCode, counted from one.
  integer(c_int), parameter :: TUTTI_OK = 0
  integer(c_int), parameter :: TUTTI_INVALID_ARGUMENT = 1
  integer(c_int), parameter :: TUTTI_MISMATCH = 2
  integer(c_int), parameter :: TUTTI_TIMEOUT = 3
  integer(c_int), parameter :: TUTTI_PEER_DEAD = 4
  integer(c_int), parameter :: TUTTI_ABORTED = 5
  integer(c_int), parameter :: TUTTI_TRANSPORT = 6
  integer(c_int), parameter :: TUTTI_OBJECT = 7
  integer(c_int), parameter :: TUTTI_BUG = 8
  integer(c_int), parameter :: TUTTI_PENDING = 100

  integer(c_int), parameter :: TUTTI_COLLECTIVE_ALL_REDUCE = 0
  integer(c_int), parameter :: TUTTI_COLLECTIVE_REDUCE = 1
  integer(c_int), parameter :: TUTTI_COLLECTIVE_BROADCAST = 2
  integer(c_int), parameter :: TUTTI_COLLECTIVE_SCATTER = 3
  integer(c_int), parameter :: TUTTI_COLLECTIVE_GATHER = 4
  integer(c_int), parameter :: TUTTI_COLLECTIVE_ALL_GATHER = 5
  integer(c_int), parameter :: TUTTI_COLLECTIVE_REDUCE_SCATTER = 6
  integer(c_int), parameter :: TUTTI_COLLECTIVE_ALL_TO_ALL = 7
  integer(c_int), parameter :: TUTTI_COLLECTIVE_SCAN = 8
  integer(c_int), parameter :: TUTTI_COLLECTIVE_EXSCAN = 9
  integer(c_int), parameter :: TUTTI_COLLECTIVE_BARRIER = 10
  integer(c_int), parameter :: TUTTI_COLLECTIVE_SEND = 100
  integer(c_int), parameter :: TUTTI_COLLECTIVE_RECV = 101
  integer(c_int), parameter :: TUTTI_COLLECTIVE_SENDRECV = 102

  integer(c_int), parameter :: TUTTI_I8 = 0
  integer(c_int), parameter :: TUTTI_I16 = 1
  integer(c_int), parameter :: TUTTI_I32 = 2
  integer(c_int), parameter :: TUTTI_I64 = 3
  integer(c_int), parameter :: TUTTI_U8 = 4
  integer(c_int), parameter :: TUTTI_U16 = 5
  integer(c_int), parameter :: TUTTI_U32 = 6
  integer(c_int), parameter :: TUTTI_U64 = 7
  integer(c_int), parameter :: TUTTI_F16 = 8
  integer(c_int), parameter :: TUTTI_BF16 = 9
  integer(c_int), parameter :: TUTTI_F32 = 10
  integer(c_int), parameter :: TUTTI_F64 = 11
  integer(c_int), parameter :: TUTTI_C32 = 12
  integer(c_int), parameter :: TUTTI_C64 = 13
  integer(c_int), parameter :: TUTTI_I32_INDEX = 14
  integer(c_int), parameter :: TUTTI_I64_INDEX = 15
  integer(c_int), parameter :: TUTTI_F32_INDEX = 16
  integer(c_int), parameter :: TUTTI_F64_INDEX = 17
  integer(c_int), parameter :: TUTTI_BOOL = 100
  integer(c_int), parameter :: TUTTI_OPAQUE = 101

  ! Operators, in the order of tutti::OperatorKind.
  integer(c_int), parameter :: TUTTI_SUM = 0
  integer(c_int), parameter :: TUTTI_PROD = 1
  integer(c_int), parameter :: TUTTI_MIN = 2
  integer(c_int), parameter :: TUTTI_MAX = 3
  integer(c_int), parameter :: TUTTI_MIN_LOC = 4
  integer(c_int), parameter :: TUTTI_MAX_LOC = 5
  integer(c_int), parameter :: TUTTI_LOGICAL_AND = 6
  integer(c_int), parameter :: TUTTI_LOGICAL_OR = 7
  integer(c_int), parameter :: TUTTI_LOGICAL_XOR = 8
  integer(c_int), parameter :: TUTTI_BIT_AND = 9
  integer(c_int), parameter :: TUTTI_BIT_OR = 10
  integer(c_int), parameter :: TUTTI_BIT_XOR = 11
  integer(c_int), parameter :: TUTTI_AVERAGE = 12
  integer(c_int), parameter :: TUTTI_USER = 100

  ! Which bits of a reduction are equal, in the order of tutti::Determinism.
  integer(c_int), parameter :: TUTTI_DETERMINISM_DEFAULT = -1
  integer(c_int), parameter :: TUTTI_FAST = 0
  integer(c_int), parameter :: TUTTI_RANK_IDENTICAL = 1
  integer(c_int), parameter :: TUTTI_RUN_TO_RUN = 2
  integer(c_int), parameter :: TUTTI_SIZE_INVARIANT = 3
  integer(c_int), parameter :: TUTTI_LAYOUT_INVARIANT = 4

  integer(c_int), parameter :: TUTTI_ANY_RANK = -1

  ! A timeout that never passes, in nanoseconds.
  integer(c_int64_t), parameter :: TUTTI_FOREVER = huge(0_c_int64_t)

  ! A call; see tutti::Call for what each collective reads of it.
  type, bind(c) :: tutti_call_t
    integer(c_size_t) :: size
    integer(c_int) :: collective
    integer(c_int) :: type
    type(c_ptr) :: in
    type(c_ptr) :: out
    integer(c_size_t) :: in_count
    integer(c_size_t) :: out_count
    integer(c_size_t) :: element_bytes
    integer(c_int) :: op
    integer(c_int32_t) :: root
    type(c_ptr) :: user_op
    type(c_ptr) :: in_counts
    type(c_ptr) :: out_counts
    integer(c_int32_t) :: to
    integer(c_int32_t) :: from
    integer(c_int32_t) :: tag
  end type

  ! As tutti::Options.
  type, bind(c) :: tutti_options_t
    integer(c_size_t) :: size
    type(c_ptr) :: algorithm
    type(c_ptr) :: transport
    integer(c_size_t) :: segment
    integer(c_int64_t) :: timeout
    integer(c_int) :: determinism
    integer(c_int32_t) :: visible
    type(c_ptr) :: counts
    integer(c_size_t) :: count_of_counts
    integer(c_int32_t) :: has_stream
    type(c_ptr) :: stream
  end type

  ! As tutti::CommunicatorOptions. Equal on all ranks.
  type, bind(c) :: tutti_communicator_options_t
    integer(c_size_t) :: size
    integer(c_int64_t) :: timeout
    integer(c_int32_t) :: segments_in_flight
    integer(c_int32_t) :: progress_thread
    integer(c_size_t) :: cache_bytes
    type(c_ptr) :: transport
    integer(c_int) :: determinism
  end type

  ! As tutti::InitOptions.
  type, bind(c) :: tutti_init_options_t
    integer(c_size_t) :: size
    type(c_ptr) :: url
    integer(c_int32_t) :: rank
    integer(c_int32_t) :: ranks
    type(c_ptr) :: transport
    integer(c_int64_t) :: timeout
    integer(c_int64_t) :: heartbeat_timeout
    type(c_ptr) :: address
    type(c_ptr) :: secret_file
    integer(c_int32_t) :: payload_checksum
    integer(c_int32_t) :: network_megabits
    integer(c_int32_t) :: insecure
    integer(c_int32_t) :: tls
    type(c_ptr) :: tuning
    type(c_ptr) :: topology
    type(c_ptr) :: communicator
  end type

  type, bind(c) :: tutti_channel_t
    integer(c_size_t) :: size
    integer(c_int32_t) :: rank
    integer(c_int32_t) :: ranks
    type(c_ptr) :: name
    integer(c_int32_t) :: is_private
    type(c_ptr) :: context
    type(c_funptr) :: all_gather
  end type

  ! As tutti::cuda::AttachOptions.
  type, bind(c) :: tutti_cuda_options_t
    integer(c_size_t) :: size
    type(c_ptr) :: transport
    integer(c_int64_t) :: timeout
    integer(c_int32_t) :: device
    integer(c_int32_t) :: visible
    integer(c_int32_t) :: compare_calls
    integer(c_int32_t) :: nonblocking
  end type

  ! A parameter of a model; as tutti::Parameter.
  type, bind(c) :: tutti_parameter_t
    integer(c_size_t) :: size
    type(c_ptr) :: name
    type(c_ptr) :: data
    integer(c_size_t) :: count
    integer(c_int) :: type
    integer(c_int32_t) :: group
    integer(c_int64_t) :: layout
    integer(c_size_t) :: rows
    integer(c_int32_t) :: visible
    integer(c_int32_t) :: tied
  end type

  ! As tutti::GradientOptions, without its callbacks.
  type, bind(c) :: tutti_gradient_options_t
    integer(c_size_t) :: size
    integer(c_size_t) :: bucket_bytes
    integer(c_size_t) :: first_bucket_bytes
    integer(c_size_t) :: in_place_bytes
    integer(c_int) :: order
    integer(c_int) :: storage
    integer(c_int) :: unused
    integer(c_int32_t) :: average
    integer(c_int32_t) :: check_finite
    integer(c_int32_t) :: norm
    real(c_double) :: max_norm
    integer(c_int32_t) :: hash
    integer(c_int32_t) :: compression_after
    type(c_ptr) :: compression
    integer(c_int32_t) :: verify_every
    integer(c_int32_t) :: resync_every
    type(c_ptr) :: state
    integer(c_size_t) :: state_count
    type(c_ptr) :: groups
    integer(c_size_t) :: group_count
    integer(c_int32_t) :: in_flight
    integer(c_int64_t) :: timeout
    type(c_ptr) :: algorithm
    type(c_ptr) :: known_order
    integer(c_size_t) :: known_order_count
    integer(c_size_t) :: record
    integer(c_int32_t) :: has_stream
    type(c_ptr) :: stream
  end type

  ! As tutti::StepReport; times in nanoseconds.
  type, bind(c) :: tutti_step_report_t
    integer(c_size_t) :: size
    integer(c_int64_t) :: step
    integer(c_int32_t) :: active
    integer(c_int64_t) :: computing
    integer(c_int64_t) :: exposed
    integer(c_int64_t) :: waiting
    integer(c_int64_t) :: communicating
    real(c_double) :: hidden
    integer(c_int64_t) :: skew
    integer(c_int32_t) :: last
    real(c_double) :: norm
    integer(c_int32_t) :: hash
    integer(c_int64_t) :: not_finite_count
    integer(c_size_t) :: not_finite_parameter
    integer(c_size_t) :: not_finite_bucket
    integer(c_int32_t) :: not_finite_rank
    integer(c_int64_t) :: sent_bytes
    integer(c_int64_t) :: plain_bytes
  end type

  ! A part of an object's bytes.
  type, bind(c) :: tutti_piece_t
    type(c_ptr) :: data
    integer(c_size_t) :: bytes
  end type

  ! An object, as bytes that lie in several places, such as a pickle and its buffers.
  type, bind(c) :: tutti_object_t
    type(c_ptr) :: pieces
    integer(c_size_t) :: count
  end type

  ! A call that moves objects.
  type, bind(c) :: tutti_object_call_t
    integer(c_size_t) :: size
    integer(c_int) :: kind
    integer(c_int32_t) :: root
    integer(c_int32_t) :: peer
    integer(c_int32_t) :: tag
    type(c_ptr) :: objects
    integer(c_size_t) :: count
    type(c_ptr) :: type
    integer(c_size_t) :: most_bytes
    integer(c_int64_t) :: timeout
    type(c_ptr) :: failure
  end type

  ! A message that no call receives yet.
  type, bind(c) :: tutti_arrival_t
    integer(c_size_t) :: size
    integer(c_int32_t) :: from
    integer(c_int32_t) :: tag
    integer(c_size_t) :: bytes
  end type

  ! The last error of a thread.
  type, bind(c) :: tutti_error_t
    integer(c_size_t) :: size
    integer(c_int) :: status
    integer(c_int) :: cause
    integer(c_int32_t) :: rank
    integer(c_int64_t) :: call
    type(c_ptr) :: text
  end type

  ! Functions of a program, which are passed by c_funloc.
  abstract interface
    integer(c_int) function tutti_combine(context, left, right, out, count) bind(c)
      import
      type(c_ptr), value :: context, left, right, out
      integer(c_size_t), value :: count
    end function
    integer(c_int) function tutti_channel_all_gather(context, own, bytes, all) bind(c)
      import
      type(c_ptr), value :: context, own
      integer(c_size_t), value :: bytes
      type(c_ptr), value :: all
    end function
    subroutine tutti_make_operator_release(context) bind(c)
      import
      type(c_ptr), value :: context
    end subroutine
    subroutine tutti_make_checked_operator_release(context) bind(c)
      import
      type(c_ptr), value :: context
    end subroutine
  end interface

  interface
    ! Sets all members to their defaults.
    subroutine tutti_call_defaults(call, size) bind(c)
      import
      type(tutti_call_t), intent(inout) :: call
      integer(c_size_t), value :: size
    end subroutine
    ! Sets all members to their defaults.
    subroutine tutti_options_defaults(options, size) bind(c)
      import
      type(tutti_options_t), intent(inout) :: options
      integer(c_size_t), value :: size
    end subroutine
    ! Runs a call to its end.
    integer(c_int) function tutti_run(communicator, call, options) bind(c)
      import
      type(c_ptr), value :: communicator
      type(tutti_call_t), intent(in) :: call
      type(c_ptr), value :: options
    end function
    ! Runs a call for a time at most.
    integer(c_int) function tutti_run_for(communicator, call, options, slice, pending) bind(c)
      import
      type(c_ptr), value :: communicator
      type(tutti_call_t), intent(in) :: call
      type(c_ptr), value :: options
      integer(c_int64_t), value :: slice
      type(c_ptr), intent(out) :: pending
    end function
    ! Starts a call. Its buffers belong to it until it has ended.
    integer(c_int) function tutti_start(communicator, call, options, result) bind(c)
      import
      type(c_ptr), value :: communicator
      type(tutti_call_t), intent(in) :: call
      type(c_ptr), value :: options
      type(c_ptr), intent(out) :: result
    end function
    integer(c_int) function tutti_reject_call(communicator, call, reason) bind(c)
      import
      type(c_ptr), value :: communicator
      type(tutti_call_t), intent(in) :: call
      character(kind=c_char), intent(in) :: reason(*)
    end function
    ! A blocking call with default options; see the method of tutti::Communicator. `in` may be `out`.
    integer(c_int) function tutti_all_reduce(communicator, in, out, count, type, op) bind(c)
      import
      type(c_ptr), value :: communicator, in, out
      integer(c_size_t), value :: count
      integer(c_int), value :: type, op
    end function
    integer(c_int) function tutti_reduce(communicator, in, out, count, type, op, root) bind(c)
      import
      type(c_ptr), value :: communicator, in, out
      integer(c_size_t), value :: count
      integer(c_int), value :: type, op
      integer(c_int32_t), value :: root
    end function
    integer(c_int) function tutti_broadcast(communicator, inout, count, type, root) bind(c)
      import
      type(c_ptr), value :: communicator, inout
      integer(c_size_t), value :: count
      integer(c_int), value :: type
      integer(c_int32_t), value :: root
    end function
    integer(c_int) function tutti_scatter(communicator, in, out, count, type, root) bind(c)
      import
      type(c_ptr), value :: communicator, in, out
      integer(c_size_t), value :: count
      integer(c_int), value :: type
      integer(c_int32_t), value :: root
    end function
    integer(c_int) function tutti_gather(communicator, in, out, count, type, root) bind(c)
      import
      type(c_ptr), value :: communicator, in, out
      integer(c_size_t), value :: count
      integer(c_int), value :: type
      integer(c_int32_t), value :: root
    end function
    integer(c_int) function tutti_all_gather(communicator, in, out, count, type) bind(c)
      import
      type(c_ptr), value :: communicator, in, out
      integer(c_size_t), value :: count
      integer(c_int), value :: type
    end function
    integer(c_int) function tutti_reduce_scatter(communicator, in, out, count, type, op) bind(c)
      import
      type(c_ptr), value :: communicator, in, out
      integer(c_size_t), value :: count
      integer(c_int), value :: type, op
    end function
    integer(c_int) function tutti_all_to_all(communicator, in, out, count, type) bind(c)
      import
      type(c_ptr), value :: communicator, in, out
      integer(c_size_t), value :: count
      integer(c_int), value :: type
    end function
    integer(c_int) function tutti_scan(communicator, in, out, count, type, op) bind(c)
      import
      type(c_ptr), value :: communicator, in, out
      integer(c_size_t), value :: count
      integer(c_int), value :: type, op
    end function
    integer(c_int) function tutti_exscan(communicator, in, out, count, type, op) bind(c)
      import
      type(c_ptr), value :: communicator, in, out
      integer(c_size_t), value :: count
      integer(c_int), value :: type, op
    end function
    ! As tutti::Communicator::barrier.
    integer(c_int) function tutti_barrier(communicator) bind(c)
      import
      type(c_ptr), value :: communicator
    end function
    integer(c_int) function tutti_send(communicator, in, count, type, to, tag) bind(c)
      import
      type(c_ptr), value :: communicator, in
      integer(c_size_t), value :: count
      integer(c_int), value :: type
      integer(c_int32_t), value :: to, tag
    end function
    integer(c_int) function tutti_recv(communicator, out, count, type, from, tag) bind(c)
      import
      type(c_ptr), value :: communicator, out
      integer(c_size_t), value :: count
      integer(c_int), value :: type
      integer(c_int32_t), value :: from, tag
    end function
    ! Sets all members to their defaults.
    subroutine tutti_communicator_options_defaults(options, size) bind(c)
      import
      type(tutti_communicator_options_t), intent(inout) :: options
      integer(c_size_t), value :: size
    end subroutine
    ! Sets all members to their defaults.
    subroutine tutti_init_options_defaults(options, size) bind(c)
      import
      type(tutti_init_options_t), intent(inout) :: options
      integer(c_size_t), value :: size
    end subroutine
    ! Connects to all ranks that were started together; see tutti::init.
    integer(c_int) function tutti_init(options, result) bind(c)
      import
      type(c_ptr), value :: options
      type(c_ptr), intent(out) :: result
    end function
    integer(c_int) function tutti_init_over(channel, options, result) bind(c)
      import
      type(tutti_channel_t), intent(in) :: channel
      type(c_ptr), value :: options
      type(c_ptr), intent(out) :: result
    end function
    ! Frees the handle: its requests, plans, memory and groups keep what they need.
    subroutine tutti_communicator_free(communicator) bind(c)
      import
      type(c_ptr), value :: communicator
    end subroutine
    integer(c_int32_t) function tutti_rank(communicator) bind(c)
      import
      type(c_ptr), value :: communicator
    end function
    integer(c_int32_t) function tutti_size(communicator) bind(c)
      import
      type(c_ptr), value :: communicator
    end function
    ! As tutti::Communicator::group.
    integer(c_int) function tutti_group(communicator, members, count, key, result) bind(c)
      import
      type(c_ptr), value :: communicator
      integer(c_int32_t), intent(in) :: members(*)
      integer(c_size_t), value :: count
      integer(c_int64_t), value :: key
      type(c_ptr), intent(out) :: result
    end function
    ! As tutti::Communicator::split.
    integer(c_int) function tutti_split(communicator, color, key, result) bind(c)
      import
      type(c_ptr), value :: communicator
      integer(c_int32_t), value :: color, key
      type(c_ptr), intent(out) :: result
    end function
    integer(c_int) function tutti_hosts(communicator, hosts) bind(c)
      import
      type(c_ptr), value :: communicator
      integer(c_int32_t), intent(inout) :: hosts(*)
    end function
    ! One line about the ranks and what connects them.
    integer(c_int) function tutti_describe(communicator, text, capacity, length) bind(c)
      import
      type(c_ptr), value :: communicator
      character(kind=c_char), intent(inout) :: text(*)
      integer(c_size_t), value :: capacity
      integer(c_size_t), intent(inout) :: length
    end function
    integer(c_int) function tutti_address(communicator, text, capacity, length) bind(c)
      import
      type(c_ptr), value :: communicator
      character(kind=c_char), intent(inout) :: text(*)
      integer(c_size_t), value :: capacity
      integer(c_size_t), intent(inout) :: length
    end function
    ! Stores the calls that this rank waits in now, one per line; empty if it does not wait. Any thread.
    integer(c_int) function tutti_communicator_waits(communicator, text, capacity, length) bind(c)
      import
      type(c_ptr), value :: communicator
      character(kind=c_char), intent(inout) :: text(*)
      integer(c_size_t), value :: capacity
      integer(c_size_t), intent(inout) :: length
    end function
    ! Allocates zeroed memory that the other ranks of the host read and write in place, if there is such memory. Local.
    integer(c_int) function tutti_allocate(communicator, bytes, result) bind(c)
      import
      type(c_ptr), value :: communicator
      integer(c_size_t), value :: bytes
      type(c_ptr), intent(out) :: result
    end function
    integer(c_int) function tutti_memory_import(communicator, file, offset, address, bytes, result) bind(c)
      import
      type(c_ptr), value :: communicator
      integer(c_int32_t), value :: file
      integer(c_int64_t), value :: offset
      type(c_ptr), value :: address
      integer(c_size_t), value :: bytes
      type(c_ptr), intent(out) :: result
    end function
    ! Frees the memory, which no call may use any more.
    subroutine tutti_memory_free(memory) bind(c)
      import
      type(c_ptr), value :: memory
    end subroutine
    type(c_ptr) function tutti_memory_data(memory) bind(c)
      import
      type(c_ptr), value :: memory
    end function
    integer(c_int32_t) function tutti_memory_is_visible(memory) bind(c)
      import
      type(c_ptr), value :: memory
    end function
    ! Sets all members to their defaults.
    subroutine tutti_cuda_options_defaults(options, size) bind(c)
      import
      type(tutti_cuda_options_t), intent(inout) :: options
      integer(c_size_t), value :: size
    end subroutine
    ! As tutti::cuda::current_device, of this thread.
    integer(c_int) function tutti_cuda_current_device(device) bind(c)
      import
      integer(c_int32_t), intent(inout) :: device
    end function
    integer(c_int) function tutti_cuda_attach(communicator, options) bind(c)
      import
      type(c_ptr), value :: communicator, options
    end function
    ! Waits until a stream has done all enqueued work; see tutti::cuda::wait.
    integer(c_int) function tutti_cuda_wait(communicator, stream, timeout) bind(c)
      import
      type(c_ptr), value :: communicator, stream
      integer(c_int64_t), value :: timeout
    end function
    ! Allocates zeroed memory of the GPU for the fastest messages; see tutti::cuda::allocate. Collective.
    integer(c_int) function tutti_cuda_allocate(communicator, bytes, result) bind(c)
      import
      type(c_ptr), value :: communicator
      integer(c_size_t), value :: bytes
      type(c_ptr), intent(out) :: result
    end function
    ! Sets all members to their defaults.
    subroutine tutti_parameter_defaults(parameter, size) bind(c)
      import
      type(tutti_parameter_t), intent(inout) :: parameter
      integer(c_size_t), value :: size
    end subroutine
    ! Sets all members to their defaults.
    subroutine tutti_gradient_options_defaults(options, size) bind(c)
      import
      type(tutti_gradient_options_t), intent(inout) :: options
      integer(c_size_t), value :: size
    end subroutine
    ! Collective.
    integer(c_int) function tutti_make_gradient_sync(communicator, parameters, count, options, result) bind(c)
      import
      type(c_ptr), value :: communicator
      type(tutti_parameter_t), intent(in) :: parameters(*)
      integer(c_size_t), value :: count
      type(c_ptr), value :: options
      type(c_ptr), intent(out) :: result
    end function
    ! As the destructor of tutti::GradientSync.
    subroutine tutti_gradient_sync_free(sync) bind(c)
      import
      type(c_ptr), value :: sync
    end subroutine
    ! From any thread; wait-free. A wrong index fails the step.
    subroutine tutti_gradient_ready(sync, parameter) bind(c)
      import
      type(c_ptr), value :: sync
      integer(c_size_t), value :: parameter
    end subroutine
    ! As tutti::GradientSync::accumulated.
    subroutine tutti_gradient_accumulated(sync, parameter) bind(c)
      import
      type(c_ptr), value :: sync
      integer(c_size_t), value :: parameter
    end subroutine
    ! Waits until all gradients are reduced on all ranks.
    integer(c_int) function tutti_gradient_wait(sync, report) bind(c)
      import
      type(c_ptr), value :: sync
      type(tutti_step_report_t), intent(inout) :: report
    end function
    ! As tutti::GradientSync::join.
    integer(c_int) function tutti_gradient_join(sync, steps) bind(c)
      import
      type(c_ptr), value :: sync
      integer(c_int64_t), intent(inout) :: steps
    end function
    ! As tutti::GradientSync::synchronize.
    integer(c_int) function tutti_gradient_synchronize(sync, timeout) bind(c)
      import
      type(c_ptr), value :: sync
      integer(c_int64_t), value :: timeout
    end function
    type(c_ptr) function tutti_gradient_view(sync, parameter) bind(c)
      import
      type(c_ptr), value :: sync
      integer(c_size_t), value :: parameter
    end function
    ! As tutti::GradientSync::broadcast_state.
    integer(c_int) function tutti_broadcast_state(sync, arrays, count, root) bind(c)
      import
      type(c_ptr), value :: sync
      type(tutti_parameter_t), intent(in) :: arrays(*)
      integer(c_size_t), value :: count
      integer(c_int32_t), value :: root
    end function
    ! As tutti::GradientSync::verify_state.
    integer(c_int) function tutti_verify_state(sync, arrays, count) bind(c)
      import
      type(c_ptr), value :: sync
      type(tutti_parameter_t), intent(in) :: arrays(*)
      integer(c_size_t), value :: count
    end function
    ! As tutti::GradientSync::average_buffers.
    integer(c_int) function tutti_average_buffers(sync, arrays, count) bind(c)
      import
      type(c_ptr), value :: sync
      type(tutti_parameter_t), intent(in) :: arrays(*)
      integer(c_size_t), value :: count
    end function
    integer(c_int64_t) function tutti_gradient_plan_hash(sync) bind(c)
      import
      type(c_ptr), value :: sync
    end function
    integer(c_size_t) function tutti_gradient_bucket_count(sync) bind(c)
      import
      type(c_ptr), value :: sync
    end function
    integer(c_int) function tutti_gradient_bucket(sync, bucket, parameters, count) bind(c)
      import
      type(c_ptr), value :: sync
      integer(c_size_t), value :: bucket
      type(c_ptr), intent(inout) :: parameters
      integer(c_size_t), intent(inout) :: count
    end function
    ! As tutti::GradientSync::write_trace.
    integer(c_int) function tutti_write_trace(sync, path) bind(c)
      import
      type(c_ptr), value :: sync
      character(kind=c_char), intent(in) :: path(*)
    end function
    ! Sets all members to their defaults.
    subroutine tutti_object_call_defaults(call, size) bind(c)
      import
      type(tutti_object_call_t), intent(inout) :: call
      integer(c_size_t), value :: size
    end subroutine
    ! Starts a call, and copies what its members point at.
    integer(c_int) function tutti_objects_start(communicator, call, result) bind(c)
      import
      type(c_ptr), value :: communicator
      type(tutti_object_call_t), intent(in) :: call
      type(c_ptr), intent(out) :: result
    end function
    ! As tutti_wait_for.
    integer(c_int) function tutti_objects_wait_for(objects, slice) bind(c)
      import
      type(c_ptr), value :: objects
      integer(c_int64_t), value :: slice
    end function
    ! As tutti_request_notify; tutti_objects_wait_for then does not wait.
    integer(c_int) function tutti_objects_notify(objects, eventfd) bind(c)
      import
      type(c_ptr), value :: objects
      integer(c_int32_t), value :: eventfd
    end function
    integer(c_size_t) function tutti_objects_count(objects) bind(c)
      import
      type(c_ptr), value :: objects
    end function
    integer(c_int) function tutti_objects_get(objects, index, data, bytes) bind(c)
      import
      type(c_ptr), value :: objects
      integer(c_size_t), value :: index
      type(c_ptr), intent(inout) :: data
      integer(c_size_t), intent(inout) :: bytes
    end function
    integer(c_int) function tutti_objects_keep(objects) bind(c)
      import
      type(c_ptr), value :: objects
    end function
    ! Frees a call, and the objects that it received.
    subroutine tutti_objects_free(objects) bind(c)
      import
      type(c_ptr), value :: objects
    end subroutine
    ! Waits for the end of a call. A failed call stays failed: all later functions return its error.
    integer(c_int) function tutti_wait(request) bind(c)
      import
      type(c_ptr), value :: request
    end function
    ! Waits for a time at most, which fails nothing.
    integer(c_int) function tutti_wait_for(request, slice) bind(c)
      import
      type(c_ptr), value :: request
      integer(c_int64_t), value :: slice
    end function
    ! Makes progress.
    integer(c_int) function tutti_test(request) bind(c)
      import
      type(c_ptr), value :: request
    end function
    integer(c_int) function tutti_request_notify(request, eventfd) bind(c)
      import
      type(c_ptr), value :: request
      integer(c_int32_t), value :: eventfd
    end function
    ! Waits for all, also where some fail, or are NULL, which is an error too.
    integer(c_int) function tutti_wait_all(requests, count) bind(c)
      import
      type(c_ptr), intent(in) :: requests(*)
      integer(c_size_t), value :: count
    end function
    ! Frees a request. A pending one fails its communicator.
    subroutine tutti_request_free(request) bind(c)
      import
      type(c_ptr), value :: request
    end subroutine
    subroutine tutti_interrupt_by(flag) bind(c)
      import
      type(c_ptr), value :: flag
    end subroutine
    ! Prepares a call, which does not start.
    integer(c_int) function tutti_make_plan(communicator, call, options, result) bind(c)
      import
      type(c_ptr), value :: communicator
      type(tutti_call_t), intent(in) :: call
      type(c_ptr), value :: options
      type(c_ptr), intent(out) :: result
    end function
    ! Starts a run.
    integer(c_int) function tutti_plan_start(plan, in, out) bind(c)
      import
      type(c_ptr), value :: plan, in, out
    end function
    ! As tutti_wait.
    integer(c_int) function tutti_plan_wait(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end function
    ! As tutti_wait_for.
    integer(c_int) function tutti_plan_wait_for(plan, slice) bind(c)
      import
      type(c_ptr), value :: plan
      integer(c_int64_t), value :: slice
    end function
    ! As tutti_test.
    integer(c_int) function tutti_plan_test(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end function
    type(c_ptr) function tutti_plan_algorithm(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end function
    ! As the destructor of tutti::Plan.
    subroutine tutti_plan_free(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end subroutine
    ! Begins a batch.
    integer(c_int) function tutti_batch_begin() bind(c)
      import
    end function
    ! Starts the calls, and waits for those that block.
    integer(c_int) function tutti_batch_end() bind(c)
      import
    end function
    ! Drops the calls; none of them starts.
    subroutine tutti_batch_cancel() bind(c)
      import
    end subroutine
    ! Waits for a message.
    integer(c_int) function tutti_probe(communicator, from, tag, slice, arrival) bind(c)
      import
      type(c_ptr), value :: communicator
      integer(c_int32_t), value :: from, tag
      integer(c_int64_t), value :: slice
      type(tutti_arrival_t), intent(inout) :: arrival
    end function
    ! Stores the choice for a call, the predicted time of each candidate, and why others are rejected.
    integer(c_int) function tutti_explain(communicator, call, options, text, capacity, length) bind(c)
      import
      type(c_ptr), value :: communicator
      type(tutti_call_t), intent(in) :: call
      type(c_ptr), value :: options
      character(kind=c_char), intent(inout) :: text(*)
      integer(c_size_t), value :: capacity
      integer(c_size_t), intent(inout) :: length
    end function
    integer(c_int) function tutti_make_operator(combine, context, commutative, release, result) bind(c)
      import
      type(c_funptr), value :: combine
      type(c_ptr), value :: context
      integer(c_int32_t), value :: commutative
      type(c_funptr), value :: release
      type(c_ptr), intent(out) :: result
    end function
    integer(c_int) function tutti_make_checked_operator(combine, context, commutative, release, result) bind(c)
      import
      type(c_funptr), value :: combine
      type(c_ptr), value :: context
      integer(c_int32_t), value :: commutative
      type(c_funptr), value :: release
      type(c_ptr), intent(out) :: result
    end function
    subroutine tutti_operator_error(text) bind(c)
      import
      character(kind=c_char), intent(in) :: text(*)
    end subroutine
    ! Calls that run keep what they need of it.
    subroutine tutti_operator_free(user_op) bind(c)
      import
      type(c_ptr), value :: user_op
    end subroutine
    subroutine tutti_last_error(error) bind(c)
      import
      type(tutti_error_t), intent(inout) :: error
    end subroutine
    type(c_ptr) function tutti_status_name(status) bind(c)
      import
      integer(c_int), value :: status
    end function
    type(c_ptr) function tutti_version() bind(c)
      import
    end function
    integer(c_int32_t) function tutti_interface_version() bind(c)
      import
    end function
  end interface

contains

  ! The address of a variable, or of an array whose elements lie one after the other, such as x, x(2:5) and x(:, 3). Of
  ! another one, such as x(1:9:2) and x(3, :), the library would use the elements between them, so the program stops.
  function tutti_location(x) result(location)
    type(*), dimension(..), target, intent(in) :: x
    type(c_ptr) :: location
    if (.not. is_contiguous(x)) &
      error stop 'tutti_location: the elements of the array do not lie one after the other; pass a copy of it'
    location = c_loc(x)
  end function

  ! The text of the last error of this thread.
  function tutti_last_error_text() result(text)
    character(:), allocatable :: text
    type(tutti_error_t) :: error
    error%size = c_sizeof(error)
    call tutti_last_error(error)
    text = tutti_text_of(error%text)
  end function

  ! A copy of a string of C; empty for a null pointer.
  function tutti_text_of(string) result(text)
    type(c_ptr), intent(in) :: string
    character(:), allocatable :: text
    character(kind=c_char), pointer :: bytes(:)
    integer(c_size_t) :: length, i
    interface
      integer(c_size_t) function strlen(string) bind(c)
        import
        type(c_ptr), value :: string
      end function
    end interface
    length = 0
    if (c_associated(string)) length = strlen(string)
    allocate (character(length) :: text)
    if (length == 0) return
    call c_f_pointer(string, bytes, [length])
    do i = 1, length
      text(i:i) = bytes(i)
    end do
  end function
end module
