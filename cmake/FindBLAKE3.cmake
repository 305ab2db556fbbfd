# Builds the official C implementation of BLAKE3 out of the sources that Debian's librust-blake3-dev installs, since no
# package has it as a library.
#
#   find_package(BLAKE3 REQUIRED)
#
# Defines the target BLAKE3::blake3. BLAKE3_SOURCE_DIR overrides where the sources are looked for.

file(GLOB blake3_candidates /usr/share/cargo/registry/blake3-*/c)
find_path(BLAKE3_SOURCE_DIR NAMES blake3_portable.c PATHS ${blake3_candidates} NO_DEFAULT_PATH)
mark_as_advanced(BLAKE3_SOURCE_DIR)

unset(BLAKE3_VERSION)
if(BLAKE3_SOURCE_DIR)
  file(STRINGS "${BLAKE3_SOURCE_DIR}/blake3.h" blake3_version_line REGEX "^#define BLAKE3_VERSION_STRING ")
  if(blake3_version_line MATCHES "\"(.+)\"")
    set(BLAKE3_VERSION "${CMAKE_MATCH_1}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  BLAKE3
  REQUIRED_VARS BLAKE3_SOURCE_DIR
  VERSION_VAR BLAKE3_VERSION)

if(BLAKE3_FOUND AND NOT TARGET BLAKE3::blake3)
  set(blake3_sources blake3.c blake3_dispatch.c blake3_portable.c)
  set(blake3_definitions "")
  # On x86-64 which of these runs is chosen when it runs, by what the processor has.
  set(blake3_flags_sse2 -msse2)
  set(blake3_flags_sse41 -msse4.1)
  set(blake3_flags_avx2 -mavx2)
  set(blake3_flags_avx512 "-mavx512f -mavx512vl")
  foreach(extension IN ITEMS sse2 sse41 avx2 avx512)
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
      list(APPEND blake3_sources blake3_${extension}.c)
      set_source_files_properties("${BLAKE3_SOURCE_DIR}/blake3_${extension}.c"
                                  PROPERTIES COMPILE_FLAGS "${blake3_flags_${extension}}")
    else()
      string(TOUPPER ${extension} extension)
      list(APPEND blake3_definitions BLAKE3_NO_${extension})
    endif()
  endforeach()
  list(TRANSFORM blake3_sources PREPEND "${BLAKE3_SOURCE_DIR}/")
  add_library(blake3 STATIC ${blake3_sources})
  add_library(BLAKE3::blake3 ALIAS blake3)
  target_include_directories(blake3 SYSTEM PUBLIC "${BLAKE3_SOURCE_DIR}")
  target_compile_definitions(blake3 PRIVATE BLAKE3_USE_NEON=0 ${blake3_definitions})
endif()
