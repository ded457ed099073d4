# How this project's targets are made: warnings, sanitizers, tests that ctest knows by case, and
# libraries that are installed as components of the CMake package.

add_library(once_flags INTERFACE)
target_compile_options(once_flags INTERFACE -Wall -Wextra -Wpedantic -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Designated initialisers that rely on defaults are the style here, not an omission.
  target_compile_options(once_flags INTERFACE -Wthread-safety -Wno-missing-field-initializers
                                              -Wno-missing-designated-field-initializers)
else()
  # g++ 12 takes the move of a short string for one beyond its bounds, depending on what it inlines.
  target_compile_options(once_flags INTERFACE -Wno-missing-field-initializers -Wno-array-bounds
                                              -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
endif()
# What is released is hardened. Not tests, which are compiled quickly, and not with sanitizers, whose
# own checks are stronger and which FORTIFY would get in the way of.
set(once_hardened OFF)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT ONCE_SANITIZE)
  set(once_hardened ON)
  set(is_hardened "$<NOT:$<BOOL:$<TARGET_PROPERTY:once_unhardened>>>")
  target_compile_options(once_flags INTERFACE
    "$<${is_hardened}:-fstack-protector-strong>"
    "$<${is_hardened}:-ftrivial-auto-var-init=zero>"
    "$<${is_hardened}:-U_FORTIFY_SOURCE>"
    "$<${is_hardened}:-D_FORTIFY_SOURCE=3>")
endif()
if(ONCE_SANITIZE)
  add_compile_options(-fsanitize=${ONCE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ONCE_SANITIZE})
  if(ONCE_SANITIZE_NOT)
    add_compile_options(-fno-sanitize=${ONCE_SANITIZE_NOT})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 sees uninitialised members in variants where its own instrumentation is all there is.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
  if(ONCE_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)
  endif()
endif()

# Sources are compiled in groups (CMAKE_UNITY_BUILD), because most of the time goes to their headers;
# the preset `debug` compiles each alone, so that none leans on another's includes.
# once_alone(SOURCE...): these define names that another source of their group defines, too.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A group has other files' nameless namespaces in what g++ takes for a header.
  add_compile_options(-Wno-subobject-linkage)
endif()
function(once_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  set_property(GLOBAL APPEND PROPERTY once_alone ${ARGN})
endfunction()

# once_precompiled(TARGET [OF OTHER] [HEADER...]): what nearly every source includes, parsed once for all libraries
# and the binary (once_core), and twice for tests (once_test_headers). Not where each source is compiled alone, which is there to
# find a missing include; and not with clang, whose tidy reads the headers themselves.
add_compile_definitions(_FILE_OFFSET_BITS=64)  # As hiredis wants it: what all share must be alike.
set(once_common_headers
    <algorithm> <array> <atomic> <charconv> <chrono> <condition_variable> <coroutine> <cstdint> <expected>
    <functional> <map> <memory> <mutex> <optional> <ranges> <span> <stop_token> <string> <string_view>
    <thread> <utility> <variant> <vector> <once/batching_driver.h> <once/blocking_driver.h> <once/local.h>)
function(once_precompiled target)
  cmake_parse_arguments(arg "" "OF" "" ${ARGN})
  if(NOT CMAKE_UNITY_BUILD OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  if(arg_OF)
    target_precompile_headers(${target} REUSE_FROM ${arg_OF})
  else()
    target_precompile_headers(${target} PRIVATE ${once_common_headers} ${arg_UNPARSED_ARGUMENTS})
  endif()
endfunction()

# once_tidy(TARGET): a test that clang-tidy finds nothing in it.
function(once_tidy target)
  if(ONCE_TIDY)
    add_test(NAME style.tidy.${target}
             COMMAND ${PROJECT_SOURCE_DIR}/scripts/check-tidy ${PROJECT_BINARY_DIR} ${target})
    get_target_property(sources ${target} SOURCES)
    list(LENGTH sources cost)  # The longest begin first.
    set_tests_properties(style.tidy.${target} PROPERTIES LABELS tidy TIMEOUT 3600 COST ${cost})
  endif()
endfunction()

# once_library(NAME SOURCE...): a library of the installed package: once::NAME, its own component.
# A component other than core has one public header, once/NAME_store.h, and a file
# cmake/once-NAME-dependencies.cmake that finds what a user of the static library must link.
function(once_library name)
  add_library(once_${name} STATIC ${ARGN})
  add_library(once::${name} ALIAS once_${name})
  set_target_properties(once_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(once_${name} PUBLIC cxx_std_23)
  target_include_directories(once_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(once_${name} PRIVATE $<BUILD_INTERFACE:once_flags>)
  if(name STREQUAL "core")
    once_precompiled(once_core)
  else()
    once_precompiled(once_${name} OF once_core)
  endif()
  once_tidy(once_${name})
  once_install_component(${name})
endfunction()

# once_test_code(TARGET [OPTIMISED]): compiled quickly, or as what it tests is; alike, so that all such share headers.
# Groups are large where nothing is optimised: three of eight together take two thirds of the time. Where
# functions are inlined, g++ 12 has more to be wrong about in a large group, and warns.
function(once_test_code target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF once_unhardened ON)
  if(NOT "OPTIMISED" IN_LIST ARGN)
    target_compile_options(${target} PRIVATE -O0)
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 24)
  endif()
endfunction()

# The headers of all tests, precompiled.
if(ONCE_TESTS)
  file(WRITE ${PROJECT_BINARY_DIR}/once_test_headers.cc "")
  foreach(kind "" OPTIMISED)
    set(test_headers once_test_headers${kind})
    add_library(${test_headers} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/once_test_headers.cc)
    target_compile_features(${test_headers} PUBLIC cxx_std_23)
    target_include_directories(${test_headers} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(${test_headers} PRIVATE once_flags GTest::gtest)
    once_test_code(${test_headers} ${kind})
    once_precompiled(${test_headers} <gtest/gtest.h> <once/memory_store.h>)
  endforeach()
endif()

# A link with GNU's other linker takes a third of the time, and each lane has sixty. What is released is
# linked with the usual one.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  find_program(ONCE_GOLD ld.gold)
  if(ONCE_GOLD AND ONCE_SANITIZE)
    add_link_options(-fuse-ld=gold)
  endif()
endif()
function(once_linked_quickly target)
  if(ONCE_GOLD AND NOT ONCE_SANITIZE)
    target_link_options(${target} PRIVATE -fuse-ld=gold)
  endif()
endfunction()

# once_test(NAME [WHOLE] [OPTIMISED] [ONE_THREAD] [SHARDS N] [FILTER PATTERN] [LIBRARIES ...] SOURCES ...): one
# program; each case that PATTERN (gtest's) selects is a test of ctest.
# WHOLE: all its cases are one test, in one process, because they share what is slow to start.
# OPTIMISED: its own code is what takes the time. Other tests are compiled quickly instead.
# ONE_THREAD: nothing in it starts a thread, so that ThreadSanitizer has nothing to see.
# SHARDS: with a sanitizer, where a program is one test, it is N, because it would end long after the others.
function(once_test name)
  cmake_parse_arguments(arg "WHOLE;OPTIMISED;ONE_THREAD" "FILTER;SHARDS" "SOURCES;LIBRARIES" ${ARGN})
  if(arg_ONE_THREAD AND ONCE_SANITIZE MATCHES "thread")
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE once_flags once::core ${arg_LIBRARIES} GTest::gtest_main)
  set(kind)
  if(arg_OPTIMISED)
    set(kind OPTIMISED)
  endif()
  once_test_code(${name} ${kind})
  once_precompiled(${name} OF once_test_headers${kind})
  once_linked_quickly(${name})
  # A sanitizer makes a start slow: there a program runs all its cases in one process.
  if(arg_SHARDS AND ONCE_SANITIZE)
    foreach(shard RANGE 1 ${arg_SHARDS})
      math(EXPR index "${shard} - 1")
      once_whole_test(${name} ${name}.${shard}_of_${arg_SHARDS} 20
        GTEST_FILTER=${arg_FILTER} GTEST_TOTAL_SHARDS=${arg_SHARDS} GTEST_SHARD_INDEX=${index})
    endforeach()
  elseif(arg_WHOLE OR ONCE_SANITIZE)
    once_whole_test(${name} ${name} 10 GTEST_FILTER=${arg_FILTER})
  else()
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 TEST_FILTER "${arg_FILTER}")
  endif()
endfunction()

# once_whole_test(PROGRAM NAME COST VARIABLE=VALUE...): all that the program selects is one test; those of a higher
# cost begin first.
function(once_whole_test program name cost)
  list(FILTER ARGN EXCLUDE REGEX "=$")
  add_test(NAME ${name} COMMAND ${program})
  set_tests_properties(${name} PROPERTIES COST ${cost} ENVIRONMENT "${ARGN}")
  if(ONCE_SANITIZE)
    set_tests_properties(${name} PROPERTIES TIMEOUT 900)
  endif()
endfunction()
