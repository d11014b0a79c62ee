! tutti_location of a row, whose elements do not lie one after the other.
subroutine run_pieces()
  use checks
  implicit none
  type(c_ptr) :: world
  real(c_float), target :: a(4, 5)
  world = new_world()
  a = 1
  call require_ok(sum_of_array(a(:, 3)), 'the sum of a column')
  call require_ok(sum_of_array(a(2, :)), 'the sum of a row')
contains
  integer(c_int) function sum_of_array(x)
    real(c_float), target, intent(inout) :: x(:)
    sum_of_array = tutti_all_reduce(world, tutti_location(x), tutti_location(x), size(x, kind=c_size_t), TUTTI_F32, &
                                    TUTTI_SUM)
  end function
end subroutine
