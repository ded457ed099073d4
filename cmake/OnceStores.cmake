# What is built, in tables: a store or a broker registers itself in its own folder, and nothing else in
# the build or the sources names it.

# once_store_folder(NAME TEXT [NEEDS TARGET]): the folder stores/NAME, with an option ONCE_NAME to leave it
# out.
function(once_store_folder name text)
  cmake_parse_arguments(arg "" "NEEDS" "" ${ARGN})
  string(TOUPPER ${name} upper)
  option(ONCE_${upper} ${text} ON)
  if(ONCE_${upper} AND (NOT arg_NEEDS OR TARGET ${arg_NEEDS}))
    add_subdirectory(stores/${name})
  endif()
endfunction()

# once_store(NAME [HARNESSES NAME...] [LIBRARIES ...]): a store, in whose folder kind.cc defines
# NAME_kind() (src/kernel/store_kind.h) and harness.cc defines NAME_harnesses() (testing/stores.h).
# HARNESSES: what $ONCE_TEST_STORE calls those that start a server, each a test of its own; LIBRARIES:
# what harness.cc needs.
function(once_store name)
  cmake_parse_arguments(arg "" "" "HARNESSES;LIBRARIES" ${ARGN})
  set_property(GLOBAL APPEND PROPERTY once_stores ${name})
  set_property(GLOBAL APPEND PROPERTY once_harness_sources ${CMAKE_CURRENT_SOURCE_DIR}/harness.cc)
  set_property(GLOBAL APPEND PROPERTY once_harness_libraries ${arg_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY once_server_harnesses ${arg_HARNESSES})
endfunction()

# once_queue(NAME): a broker, in whose folder NAME_queue_kind() is defined (src/queues/queue_kind.h).
function(once_queue name)
  set_property(GLOBAL APPEND PROPERTY once_queues ${name})
endfunction()

# once_on_each_server(PROGRAM [ARGUMENT...]): PROGRAM.on_NAME, a test of ctest for each store that is a
# server: the whole program, because its cases share what is slow to start.
function(once_on_each_server program)
  get_property(harnesses GLOBAL PROPERTY once_server_harnesses)
  foreach(harness IN LISTS harnesses)
    add_test(NAME ${program}.on_${harness} COMMAND ${program} ${ARGN})
    set_tests_properties(${program}.on_${harness} PROPERTIES
      ENVIRONMENT ONCE_TEST_STORE=${harness} COST 15 TIMEOUT 900)
  endforeach()
endfunction()

# once_rows(TARGET FILE MACRO NAME...): a line MACRO(NAME) for each, in a FILE that TARGET can include.
function(once_rows target file macro)
  set(rows)
  foreach(name IN LISTS ARGN)
    string(APPEND rows "${macro}(${name})\n")
  endforeach()
  set(directory ${CMAKE_CURRENT_BINARY_DIR}/${target}_tables)
  file(CONFIGURE OUTPUT ${directory}/${file} CONTENT "${rows}" @ONLY)
  target_include_directories(${target} PRIVATE ${directory})
endfunction()

# once_table_of(TARGET stores|queues): TARGET has the table of all that are registered so far.
function(once_table_of target what)
  get_property(names GLOBAL PROPERTY once_${what})
  string(REGEX REPLACE "s$" "" one ${what})
  string(TOUPPER "ONCE_${one}" macro)
  once_rows(${target} built_${what}.inc ${macro} ${names})
  foreach(name IN LISTS names)
    if(TARGET once::${name})  # Memory is in the core.
      target_link_libraries(${target} PRIVATE once::${name})
    endif()
  endforeach()
endfunction()
