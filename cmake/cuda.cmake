# The CUDA toolkit, which compiles the kernels and says how the driver is called. The driver itself, and
# NCCL, are loaded at run time, so that one build serves machines with and without GPUs. Sets
# TUTTI_CUDA, TUTTI_CUDA_WHY and TUTTI_CUDA_INCLUDE_DIR.
option(TUTTI_BUILD_CUDA "Build what GPUs need, where the CUDA toolkit is" ON)
set(TUTTI_CUDA_ARCHITECTURES "80;90" CACHE STRING
    "GPUs that kernels are compiled for, by compute capability; newer ones compile them when they load them")
set(TUTTI_CUDA OFF)
set(TUTTI_CUDA_WHY "TUTTI_BUILD_CUDA is OFF")
if(TUTTI_BUILD_CUDA)
  find_program(TUTTI_NVCC nvcc HINTS /usr/local/cuda/bin ENV CUDA_PATH PATH_SUFFIXES bin)
  if(TUTTI_NVCC)
    get_filename_component(folder ${TUTTI_NVCC} REALPATH)
    get_filename_component(folder ${folder} DIRECTORY)
    find_program(TUTTI_BIN2C bin2c HINTS ${folder})
    find_path(TUTTI_CUDA_INCLUDE_DIR cuda.h HINTS ${folder}/../include)
    mark_as_advanced(TUTTI_BIN2C TUTTI_CUDA_INCLUDE_DIR)
  endif()
  mark_as_advanced(TUTTI_NVCC)
  set(TUTTI_CUDA_WHY "no CUDA toolkit found (nvcc, bin2c, cuda.h)")
  if(TUTTI_NVCC AND TUTTI_BIN2C AND TUTTI_CUDA_INCLUDE_DIR)
    set(TUTTI_CUDA ON)
    set(TUTTI_CUDA_WHY "${TUTTI_NVCC}")
  endif()
endif()
