# A .deb of the binary and its service: `cpack --config build/release/CPackConfig.cmake -G DEB`. What
# it holds is a component of its own, so that `cmake --install` puts down none of /etc.
set(in_deb COMPONENT deb EXCLUDE_FROM_ALL)
set(packaging ${PROJECT_SOURCE_DIR}/packaging)

install(TARGETS once_cli RUNTIME DESTINATION usr/bin ${in_deb})
install(FILES ${packaging}/once.service DESTINATION usr/lib/systemd/system ${in_deb})
install(FILES ${packaging}/once.toml DESTINATION etc/once ${in_deb})
install(FILES ${packaging}/copyright ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
              ${PROJECT_SOURCE_DIR}/openapi.yaml
        DESTINATION usr/share/doc/once ${in_deb})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME once)
set(CPACK_PACKAGE_VENDOR Once)
set(CPACK_PACKAGE_CONTACT "The Once maintainers <maintainers@once.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Layer between delivered at least once and took effect once")
set(CPACK_COMPONENT_DEB_DESCRIPTION "Queues redeliver, clients retry, workers crash, machines race. Once keeps claims with
leases and fences, logs without gaps, documents with ETags and tallies, so that what
is committed through it takes effect exactly once. This package has the binary
with its commands and a systemd service that listens on loopback.")
set(CPACK_PACKAGING_INSTALL_PREFIX /)
set(CPACK_STRIP_FILES TRUE)
set(CPACK_COMPONENTS_ALL deb)
set(CPACK_DEB_COMPONENT_INSTALL ON)

set(CPACK_DEBIAN_DEB_PACKAGE_NAME once)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_DEB_PACKAGE_CONTROL_EXTRA
    ${packaging}/conffiles ${packaging}/postinst ${packaging}/prerm ${packaging}/postrm)
include(CPack)
