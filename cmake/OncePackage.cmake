# The installed CMake package. Each component has a targets file of its own, so that asking for
# `core` neither loads nor looks for what another store needs.
include(CMakePackageConfigHelpers)

# What is a component of its own, built or not, has a file of its dependencies here; its header does
# not go with core.
file(GLOB once_own_components RELATIVE ${CMAKE_CURRENT_LIST_DIR} CONFIGURE_DEPENDS
     ${CMAKE_CURRENT_LIST_DIR}/once-*-dependencies.cmake)
list(TRANSFORM once_own_components REPLACE "once-(.*)-dependencies.cmake" "\\1")
set(once_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/once)

function(once_install_component name)
  set_property(GLOBAL APPEND PROPERTY once_components ${name})
  install(TARGETS once_${name} EXPORT once-${name} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT once-${name} NAMESPACE once:: FILE once-${name}-targets.cmake
          DESTINATION ${once_package_dir})
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/once-${name}-dependencies.cmake
          DESTINATION ${once_package_dir})
  if(NOT name STREQUAL "core")
    set(headers)
    foreach(header ${name}_store.h ${name}.h)
      if(EXISTS ${PROJECT_SOURCE_DIR}/include/once/${header})
        list(APPEND headers ${PROJECT_SOURCE_DIR}/include/once/${header})
      endif()
    endforeach()
    if(headers)
      install(FILES ${headers}
              DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/once)
    endif()
    return()
  endif()
  list(JOIN once_own_components "|" elsewhere)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/once DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          REGEX "/(${elsewhere})(_store)?[.]h$" EXCLUDE)
endfunction()

# Once every component is known.
function(once_install_package)
  get_property(once_components GLOBAL PROPERTY once_components)
  get_property(once_stores GLOBAL PROPERTY once_stores)
  get_property(once_queues GLOBAL PROPERTY once_queues)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/once-config.cmake.in
    ${PROJECT_BINARY_DIR}/once-config.cmake INSTALL_DESTINATION ${once_package_dir})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/once-config-version.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/once-config.cmake
                ${PROJECT_BINARY_DIR}/once-config-version.cmake
          DESTINATION ${once_package_dir})
endfunction()
