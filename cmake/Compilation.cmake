# How everything here is compiled: the interface target mpc_common carries it to each library and program.

option(MPC_WARNINGS_AS_ERRORS "Treat compiler warnings as errors" OFF)
set(MPC_SANITIZERS "" CACHE STRING "Sanitizers to build with, as -fsanitize takes them: address,undefined or thread")
set(MPC_CAF_SOURCE "" CACHE PATH "Source of CAF, to build with these sanitizers; not there: use the installed library")
option(MPC_FUZZ "Instrument for the fuzz targets of test/fuzz, which are then the only tests; needs clang" OFF)

find_program(CCACHE_PROGRAM ccache)
mark_as_advanced(CCACHE_PROGRAM)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

configure_file(cmake/version.hpp.in generated/version.hpp @ONLY)

add_library(mpc_warnings INTERFACE)
target_compile_options(
  mpc_warnings
  INTERFACE -Wall
            -Wextra
            -Wpedantic
            -Wshadow
            -Wconversion
            -Wnon-virtual-dtor
            -Woverloaded-virtual
            $<$<BOOL:${MPC_WARNINGS_AS_ERRORS}>:-Werror>)

add_library(mpc_common INTERFACE)
target_include_directories(mpc_common INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/generated")
target_link_libraries(mpc_common INTERFACE mpc_warnings)

if(MPC_SANITIZERS)
  set(mpc_sanitizer_options -fsanitize=${MPC_SANITIZERS} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(MPC_SANITIZERS MATCHES "undefined")
    # A report can only be suppressed where the program could go on, and test/sanitizers/ubsan.supp suppresses these
    # two in headers that aren't ours. halt_on_error in UBSAN_OPTIONS makes those of ours fatal all the same.
    list(APPEND mpc_sanitizer_options -fsanitize-recover=null,pointer-overflow)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The sanitizers' own code misleads this warning; a build without them heeds it.
    list(APPEND mpc_sanitizer_options -Wno-maybe-uninitialized)
  endif()
  target_compile_options(mpc_common INTERFACE ${mpc_sanitizer_options})
  target_link_options(mpc_common INTERFACE -fsanitize=${MPC_SANITIZERS})
endif()

if(MPC_FUZZ)
  target_compile_options(mpc_common INTERFACE -fsanitize=fuzzer-no-link)
endif()
