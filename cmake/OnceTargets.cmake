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

# once_precompiled(TARGET [OF OTHER]): what nearly every source includes, parsed once for all libraries
# (once_core) and once for all tests. Not where each source is compiled alone, which is there to find
# a missing include; and not with clang, whose tidy reads the headers themselves.
add_compile_definitions(_FILE_OFFSET_BITS=64)  # As hiredis wants it: what all share must be alike.
set(once_common_headers
    <algorithm> <array> <atomic> <charconv> <chrono> <condition_variable> <coroutine> <cstdint> <expected>
    <functional> <map> <memory> <mutex> <optional> <ranges> <span> <stop_token> <string> <string_view>
    <thread> <utility> <variant> <vector>)
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
    set_tests_properties(style.tidy.${target} PROPERTIES TIMEOUT 1800)
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

# The headers of all tests, precompiled.
if(ONCE_TESTS)
  file(WRITE ${PROJECT_BINARY_DIR}/once_test_headers.cc "")
  add_library(once_test_headers OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/once_test_headers.cc)
  target_compile_features(once_test_headers PUBLIC cxx_std_23)
  target_compile_options(once_test_headers PRIVATE -O0)
  set_target_properties(once_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF once_unhardened ON)
  target_link_libraries(once_test_headers PRIVATE once_flags GTest::gtest)
  once_precompiled(once_test_headers <gtest/gtest.h>)
endif()

# once_test(NAME [WHOLE] [OPTIMISED] [FILTER PATTERN] [LIBRARIES ...] SOURCES ...): one program; each case
# that PATTERN (gtest's) selects is a test of ctest. WHOLE: all its cases are one test, in one process,
# because they share what is slow to start. OPTIMISED: its own code is what takes the time. Other tests
# are compiled quickly instead.
function(once_test name)
  cmake_parse_arguments(arg "WHOLE;OPTIMISED" "FILTER" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE once_flags once::core ${arg_LIBRARIES} GTest::gtest_main)
  # As once_test_headers.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF once_unhardened ON)
  if(NOT arg_OPTIMISED)
    target_compile_options(${name} PRIVATE -O0)
    once_precompiled(${name} OF once_test_headers)
  endif()
  # A sanitizer makes a start slow: there a program runs all its cases in one process.
  if(arg_WHOLE OR ONCE_SANITIZE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES COST 10)  # Begun before the short ones.
    if(ONCE_SANITIZE)
      set_tests_properties(${name} PROPERTIES TIMEOUT 900)
    endif()
    if(arg_FILTER)
      set_tests_properties(${name} PROPERTIES ENVIRONMENT "GTEST_FILTER=${arg_FILTER}")
    endif()
  else()
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 TEST_FILTER "${arg_FILTER}")
  endif()
endfunction()
