# What it opens are components, too.
if("rocksdb" IN_LIST once_installed_components AND NOT TARGET once::rocksdb)
  include(${CMAKE_CURRENT_LIST_DIR}/once-rocksdb-dependencies.cmake)
  include(${CMAKE_CURRENT_LIST_DIR}/once-rocksdb-targets.cmake)
endif()
if(NOT TARGET once::remote)
  include(${CMAKE_CURRENT_LIST_DIR}/once-remote-dependencies.cmake)
  include(${CMAKE_CURRENT_LIST_DIR}/once-remote-targets.cmake)
endif()
