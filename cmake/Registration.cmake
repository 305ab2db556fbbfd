# What the service is made of is found by file name, so that adding a part takes no edit elsewhere:
#   <folder>/<name>_capability.cpp   defines   coordinator::capability coordinator::<name>_capability();
#   <folder>/<name>_api.cpp          defines   void coordinator::http::register_<name>_api(router&);

# Generates the list of all parts in the given folders as a source file: the definitions of `all_capabilities` and
# `register_apis`.
#
#   generate_registration(<file> FOLDERS <folder>...)
function(generate_registration file)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FOLDERS")
  set(capability_declarations "")
  set(capability_calls "")
  set(api_declarations "")
  set(api_calls "")
  foreach(folder IN LISTS arg_FOLDERS)
    file(GLOB capabilities CONFIGURE_DEPENDS RELATIVE "${folder}" "${folder}/*_capability.cpp")
    list(SORT capabilities)
    foreach(source IN LISTS capabilities)
      cmake_path(GET source STEM name)
      string(APPEND capability_declarations "capability ${name}();\n")
      string(APPEND capability_calls "  result.push_back(${name}());\n")
    endforeach()
    file(GLOB apis CONFIGURE_DEPENDS RELATIVE "${folder}" "${folder}/*_api.cpp")
    list(SORT apis)
    foreach(source IN LISTS apis)
      cmake_path(GET source STEM name)
      string(APPEND api_declarations "void register_${name}(router& routes);\n")
      string(APPEND api_calls "  register_${name}(routes);\n")
    endforeach()
  endforeach()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/registration.cpp.in" "${file}" @ONLY)
endfunction()
