! Objects as bytes of tutti.h from Fortran 2018.
subroutine run_objects()
  use checks
  implicit none
  type(c_ptr) :: world, kept
  integer(c_int32_t) :: rank, ranks

  world = new_world()
  rank = tutti_rank(world)
  ranks = tutti_size(world)
  call test_all_gather()
  call test_failure()
  call test_freed_while_pending()
  call tutti_communicator_free(world)
  call test_kept()

contains

  ! A call with one object, whose bytes lie in two places.
  subroutine start_all_gather(failure, received)
    character(*, kind=c_char), intent(in), target :: failure
    type(c_ptr), intent(out) :: received
    character(5, kind=c_char), target :: head
    character(1, kind=c_char), target :: tail
    character(5, kind=c_char), target :: type
    type(tutti_piece_t), target :: pieces(2)
    type(tutti_object_t), target :: object
    type(tutti_object_call_t) :: exchange
    head = 'rank '
    tail = achar(iachar('a') + rank)
    type = 'text'//c_null_char
    pieces(1)%data = c_loc(head)
    pieces(1)%bytes = len(head)
    pieces(2)%data = c_loc(tail)
    pieces(2)%bytes = len(tail)
    object%pieces = c_loc(pieces)
    object%count = size(pieces)
    call tutti_object_call_defaults(exchange, c_sizeof(exchange))
    exchange%kind = TUTTI_OBJECT_ALL_GATHER
    exchange%objects = c_loc(object)
    exchange%count = 1
    exchange%type = c_loc(type)
    if (failure /= '') exchange%failure = c_loc(failure)
    call require_ok(tutti_objects_start(world, exchange, received), 'objects_start')
  end subroutine

  integer(c_int) function wait_for(received)
    type(c_ptr), intent(in) :: received
    wait_for = TUTTI_PENDING
    do while (wait_for == TUTTI_PENDING)
      wait_for = tutti_objects_wait_for(received, 1000000_c_int64_t)
    end do
  end function

  subroutine require_objects(received)
    type(c_ptr), intent(in) :: received
    character(kind=c_char), pointer :: text(:)
    type(c_ptr) :: data
    integer(c_size_t) :: bytes
    integer(c_int32_t) :: i
    call require(tutti_objects_count(received) == ranks, 'an object of each rank')
    do i = 0, ranks - 1
      call require_ok(tutti_objects_get(received, int(i, c_size_t), data, bytes), 'objects_get')
      call require(bytes == 6, 'the bytes of both pieces')
      call c_f_pointer(data, text, [bytes])
      call require(text(1) == 'r' .and. iachar(text(6)) == iachar('a') + i, 'the object of a rank')
    end do
    call require_status(tutti_objects_get(received, 99_c_size_t, data, bytes), TUTTI_INVALID_ARGUMENT, 'no object')
  end subroutine

  subroutine test_all_gather()
    call start_all_gather('', kept)
    call require_status(tutti_objects_notify(kept, 99999), TUTTI_INVALID_ARGUMENT, 'no descriptor')
    call require_ok(tutti_objects_notify(kept, -1), 'objects_notify')
    call require_ok(wait_for(kept), 'objects_wait_for')
    call require_objects(kept)
    call require_ok(tutti_objects_keep(kept), 'objects_keep')
    call require_status(tutti_objects_keep(c_null_ptr), TUTTI_INVALID_ARGUMENT, 'no objects')
  end subroutine

  ! Rank 0 could not encode its object.
  subroutine test_failure()
    type(c_ptr) :: received
    if (rank == 0) call start_all_gather('it has a lock'//c_null_char, received)
    if (rank > 0) call start_all_gather('', received)
    call require_status(wait_for(received), TUTTI_OBJECT, 'objects that fail')
    call require_text('it has a lock')
    call tutti_objects_free(received)
    call require_ok(tutti_barrier(world), 'the communicator stays usable')
  end subroutine

  ! Rank 0 gives up a pending call, which fails the communicator on all ranks.
  subroutine test_freed_while_pending()
    type(c_ptr) :: whole, received
    type(tutti_object_call_t) :: receive
    if (ranks == 1) return
    whole = communicator_to_fail(world)
    if (rank == 0) then
      call tutti_object_call_defaults(receive, c_sizeof(receive))
      receive%kind = TUTTI_OBJECT_RECV
      receive%peer = 1
      call require_ok(tutti_objects_start(whole, receive, received), 'an object that never comes')
      call require_status(tutti_objects_wait_for(received, 1_c_int64_t), TUTTI_PENDING, 'it has not come')
      call tutti_objects_free(received)
    end if
    call require_status(tutti_barrier(whole), TUTTI_ABORTED, 'rank 0 gave up')
    call tutti_communicator_free(whole)
  end subroutine

  ! Kept objects outlive their communicator.
  subroutine test_kept()
    call require_objects(kept)
    call tutti_objects_free(kept)
    call tutti_objects_free(c_null_ptr)
  end subroutine
end subroutine
