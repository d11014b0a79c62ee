! Collectives of tutti.h from Fortran 2008.
program calls
  use tutti
  implicit none
  type(c_ptr) :: world
  integer :: rank, ranks
  real(c_double), target :: x(1000), y(1000)
  integer(c_int32_t), target :: own(2), all_of_them(128), root_value

  call require(tutti_init(c_null_ptr, world), 'init')
  rank = tutti_rank(world)
  ranks = tutti_size(world)
  if (ranks > 64) error stop 'the test is for up to 64 ranks'

  x = rank + 1
  call require(tutti_all_reduce(world, c_loc(x), c_loc(y), size(x, kind=c_size_t), TUTTI_F64, TUTTI_SUM), &
               'all_reduce')
  if (any(abs(y - ranks * (ranks + 1) / 2) > 0)) error stop 'all_reduce does not sum'

  root_value = rank
  call require(tutti_broadcast(world, c_loc(root_value), 1_c_size_t, TUTTI_I32, ranks - 1), 'broadcast')
  if (root_value /= ranks - 1) error stop 'broadcast does not send the value of the root'

  own = [rank, -rank]
  call require(tutti_all_gather(world, c_loc(own), c_loc(all_of_them), 2_c_size_t, TUTTI_I32), 'all_gather')
  if (all_of_them(2 * ranks) /= 1 - ranks) error stop 'all_gather lacks the last block'

  if (tutti_all_reduce(world, c_null_ptr, c_loc(y), 1_c_size_t, TUTTI_F64, TUTTI_MAX) &
      /= TUTTI_INVALID_ARGUMENT) error stop 'a call without input is no error'
  call require(tutti_barrier(world), 'barrier')
  call tutti_communicator_free(world)

contains

  subroutine require(status, what)
    integer(c_int), intent(in) :: status
    character(*), intent(in) :: what
    type(tutti_error) :: error
    if (status == TUTTI_OK) return
    error%size = c_sizeof(error)
    call tutti_last_error(error)
    print *, what, ' fails with status ', error%status, ', rank ', error%rank
    error stop
  end subroutine
end program
