# Finds the C++ Actor Framework, whose 0.17 releases come without a CMake package.
#
#   find_package(CAF 0.17.6...<0.18 REQUIRED)
#
# Defines the target CAF::core (libcaf_core) and the variable CAF_VERSION. Looks where CMake looks for headers and
# libraries anyway; CAF_INCLUDE_DIR and CAF_CORE_LIBRARY override what it finds.

find_path(CAF_INCLUDE_DIR NAMES caf/config.hpp)
find_library(CAF_CORE_LIBRARY NAMES caf_core)
mark_as_advanced(CAF_INCLUDE_DIR CAF_CORE_LIBRARY)

unset(CAF_VERSION)
if(CAF_INCLUDE_DIR)
  # One number: major * 10000 + minor * 100 + patch, so 1706 is 0.17.6.
  file(STRINGS "${CAF_INCLUDE_DIR}/caf/config.hpp" caf_version_line REGEX "^#define CAF_VERSION [0-9]+$")
  if(caf_version_line MATCHES "([0-9]+)$")
    math(EXPR caf_major "${CMAKE_MATCH_1} / 10000")
    math(EXPR caf_minor "${CMAKE_MATCH_1} / 100 % 100")
    math(EXPR caf_patch "${CMAKE_MATCH_1} % 100")
    set(CAF_VERSION "${caf_major}.${caf_minor}.${caf_patch}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  CAF
  REQUIRED_VARS CAF_CORE_LIBRARY CAF_INCLUDE_DIR
  VERSION_VAR CAF_VERSION
  HANDLE_VERSION_RANGE)

if(CAF_FOUND AND NOT TARGET CAF::core)
  find_package(Threads REQUIRED)
  add_library(CAF::core UNKNOWN IMPORTED)
  set_target_properties(CAF::core PROPERTIES IMPORTED_LOCATION "${CAF_CORE_LIBRARY}"
                                             INTERFACE_INCLUDE_DIRECTORIES "${CAF_INCLUDE_DIR}")
  target_link_libraries(CAF::core INTERFACE Threads::Threads)
endif()
