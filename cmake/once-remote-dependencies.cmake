if(NOT TARGET once::client)
  include(${CMAKE_CURRENT_LIST_DIR}/once-client-dependencies.cmake)
  include(${CMAKE_CURRENT_LIST_DIR}/once-client-targets.cmake)
endif()
