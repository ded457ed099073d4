# A .deb of the binary and its service: `cpack --config build/release/CPackConfig.cmake -G DEB`. What
# it holds is a component of its own, so that `cmake --install` puts down none of /etc.
set(in_deb COMPONENT deb EXCLUDE_FROM_ALL)
set(packaging ${PROJECT_SOURCE_DIR}/packaging)

install(TARGETS once_cli RUNTIME DESTINATION usr/bin ${in_deb})
# Manual pages and completions come from the binary's own tables.
install(CODE [[
  set(share "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/usr/share")
  file(MAKE_DIRECTORY "${share}/man/man1" "${share}/bash-completion/completions"
                      "${share}/zsh/vendor-completions" "${share}/fish/vendor_completions.d")
  function(print_to file)
    execute_process(COMMAND "${once}" ${ARGN} OUTPUT_FILE "${file}" COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND chmod 644 "${file}" COMMAND_ERROR_IS_FATAL ANY)
  endfunction()
  set(once "$<TARGET_FILE:once_cli>")
  print_to("${share}/bash-completion/completions/once" completion bash)
  print_to("${share}/zsh/vendor-completions/_once" completion zsh)
  print_to("${share}/fish/vendor_completions.d/once.fish" completion fish)
  print_to("${share}/man/man1/once.1" help --man)
  execute_process(COMMAND "${once}" help OUTPUT_VARIABLE overview COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "Every command takes:.*" "" overview "${overview}")
  string(REGEX MATCHALL "\n  [a-z]+" names "${overview}")
  foreach(name IN LISTS names)
    string(STRIP "${name}" name)
    print_to("${share}/man/man1/once-${name}.1" help ${name} --man)
  endforeach()
  file(GLOB pages "${share}/man/man1/*.1")
  execute_process(COMMAND gzip -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
]] ${in_deb})
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
