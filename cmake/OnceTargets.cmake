# How this project's targets are made: warnings, sanitizers, tests that ctest knows by case, and
# libraries that are installed as components of the CMake package.

add_library(once_flags INTERFACE)
target_compile_options(once_flags INTERFACE -Wall -Wextra -Wpedantic -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Designated initialisers that rely on defaults are the style here, not an omission.
  target_compile_options(once_flags INTERFACE -Wthread-safety -Wno-missing-field-initializers
                                              -Wno-missing-designated-field-initializers)
else()
  target_compile_options(once_flags INTERFACE -Wno-missing-field-initializers)
endif()
if(ONCE_SANITIZE)
  add_compile_options(-fsanitize=${ONCE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ONCE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 sees uninitialised members in variants where its own instrumentation is all there is.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
  if(ONCE_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)
  endif()
endif()

# once_tidy(TARGET): clang-tidy beside the compiler, so that only what changed is looked at again.
if(ONCE_TIDY)
  find_program(ONCE_CLANG_TIDY clang-tidy-19 REQUIRED)
endif()
function(once_tidy target)
  if(ONCE_TIDY)
    set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "${ONCE_CLANG_TIDY};--quiet")
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
  once_tidy(once_${name})
  once_install_component(${name})
endfunction()

# once_test(NAME [WHOLE] [LIBRARIES ...] SOURCES ...): one program; each case is a test of ctest. WHOLE:
# all its cases are one test, in one process, because they share what is slow to start.
function(once_test name)
  cmake_parse_arguments(arg "WHOLE" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE once_flags once::core ${arg_LIBRARIES} GTest::gtest_main)
  if(arg_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
  else()
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60)
  endif()
endfunction()
