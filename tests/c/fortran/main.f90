! All tests in Fortran 2018, in one program: the first argument names the case.
program tests
  implicit none
  external :: run_calls, run_cuda, run_events, run_gradients, run_interrupts, run_memory, &
              run_objects, run_pieces, run_requests, run_worlds
  character(32) :: name
  call get_command_argument(1, name)
  select case (name)
  case ('calls')
    call run_calls()
  case ('cuda')
    call run_cuda()
  case ('events')
    call run_events()
  case ('gradients')
    call run_gradients()
  case ('interrupts')
    call run_interrupts()
  case ('memory')
    call run_memory()
  case ('objects')
    call run_objects()
  case ('pieces')
    call run_pieces()
  case ('requests')
    call run_requests()
  case ('worlds')
    call run_worlds()
  case default
    error stop 'the first argument names no case'
  end select
end program
