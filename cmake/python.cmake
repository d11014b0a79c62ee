# The modules of the Python package that are made from C. The project has the language C.
#   tutti_declarations  tutti._declarations: the headers of C for ctypes, written by a script
#   tutti_fast          tutti._fast: the calls that programs make most often, one module for CPython from 3.11 on;
#                       no target if Python's headers are not found
# tutti_add_python_modules(source folder)
function(tutti_add_python_modules source folder)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(script ${source}/python/write_declarations.py)
  file(GLOB headers CONFIGURE_DEPENDS ${source}/c/include/tutti_c/*.h)
  add_custom_command(OUTPUT ${folder}/_declarations.py
    COMMAND Python3::Interpreter -B ${script} ${folder}/_declarations.py
    DEPENDS ${script} ${source}/c/declarations.py ${source}/include/tutti/version.hpp ${headers})
  add_custom_target(tutti_declarations ALL DEPENDS ${folder}/_declarations.py)

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
