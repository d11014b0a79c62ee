# tutti._fast, the calls of the Python package that programs make most often: one module for CPython from 3.11
# on. Makes the target tutti_fast if Python's headers are found. The project has the language C.
# tutti_add_python_module(source folder)
function(tutti_add_python_module source folder)
  file(GLOB sources CONFIGURE_DEPENDS ${source}/python/_fast*.c)
  find_package(Python3 3.11 QUIET COMPONENTS Interpreter Development.Module)
  if(NOT sources OR NOT Python3_Development.Module_FOUND)
    return()
  endif()
  add_library(tutti_fast MODULE ${sources})
  target_include_directories(tutti_fast SYSTEM PRIVATE ${Python3_INCLUDE_DIRS})
  target_include_directories(tutti_fast PRIVATE ${source}/c/include)
  set_target_properties(tutti_fast PROPERTIES PREFIX "" OUTPUT_NAME _fast SUFFIX .abi3.so C_STANDARD 11
    C_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${folder})
endfunction()
