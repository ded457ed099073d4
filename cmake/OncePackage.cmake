# The installed CMake package. Each component has a targets file of its own, so that asking for
# `core` neither loads nor looks for what another store needs.
include(CMakePackageConfigHelpers)

# Stores that are components of their own, built or not: their headers do not go with core.
set(once_store_components rocksdb dynamodb redis s3)
set(once_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/once)

function(once_install_component name)
  set_property(GLOBAL APPEND PROPERTY once_components ${name})
  install(TARGETS once_${name} EXPORT once-${name} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT once-${name} NAMESPACE once:: FILE once-${name}-targets.cmake
          DESTINATION ${once_package_dir})
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/once-${name}-dependencies.cmake
          DESTINATION ${once_package_dir})
  if(NOT name STREQUAL "core")
    install(FILES ${PROJECT_SOURCE_DIR}/include/once/${name}_store.h
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/once)
    return()
  endif()
  list(JOIN once_store_components "|" elsewhere)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/once DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          REGEX "/(${elsewhere})_store\\.h$" EXCLUDE)
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
