if(NOT TARGET once::wire)
  include(${CMAKE_CURRENT_LIST_DIR}/once-wire-dependencies.cmake)
  include(${CMAKE_CURRENT_LIST_DIR}/once-wire-targets.cmake)
endif()
