# The installed CMake package. Each component has a targets file of its own, so that asking for
# `core` neither loads nor looks for what another store needs.
include(CMakePackageConfigHelpers)

# What is a component of its own, built or not: its header does not go with core.
set(once_own_headers rocksdb_store.h dynamodb_store.h redis_store.h s3_store.h open.h work.h queues.h)
set(once_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/once)

function(once_install_component name)
  set_property(GLOBAL APPEND PROPERTY once_components ${name})
  install(TARGETS once_${name} EXPORT once-${name} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT once-${name} NAMESPACE once:: FILE once-${name}-targets.cmake
          DESTINATION ${once_package_dir})
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/once-${name}-dependencies.cmake
          DESTINATION ${once_package_dir})
  if(NOT name STREQUAL "core")
    foreach(header ${name}_store.h ${name}.h)
      if(header IN_LIST once_own_headers)
        list(APPEND headers ${PROJECT_SOURCE_DIR}/include/once/${header})
      endif()
    endforeach()
    if(headers)
      install(FILES ${headers}
              DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/once)
    endif()
    return()
  endif()
  list(JOIN once_own_headers "|" elsewhere)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/once DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          REGEX "/(${elsewhere})$" EXCLUDE)
endfunction()

# Once every component is known.
function(once_install_package)
  get_property(once_components GLOBAL PROPERTY once_components)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/once-config.cmake.in
    ${PROJECT_BINARY_DIR}/once-config.cmake INSTALL_DESTINATION ${once_package_dir})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/once-config-version.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/once-config.cmake
                ${PROJECT_BINARY_DIR}/once-config-version.cmake
          DESTINATION ${once_package_dir})
endfunction()
