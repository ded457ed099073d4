# The stores that it opens are components, too.
if("rocksdb" IN_LIST once_installed_components AND NOT TARGET once::rocksdb)
  include(${CMAKE_CURRENT_LIST_DIR}/once-rocksdb-dependencies.cmake)
  include(${CMAKE_CURRENT_LIST_DIR}/once-rocksdb-targets.cmake)
endif()
if("dynamodb" IN_LIST once_installed_components AND NOT TARGET once::dynamodb)
  include(${CMAKE_CURRENT_LIST_DIR}/once-dynamodb-dependencies.cmake)
  include(${CMAKE_CURRENT_LIST_DIR}/once-dynamodb-targets.cmake)
endif()
