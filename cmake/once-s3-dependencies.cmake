if(NOT TARGET once::aws)
  include(${CMAKE_CURRENT_LIST_DIR}/once-aws-dependencies.cmake)
  include(${CMAKE_CURRENT_LIST_DIR}/once-aws-targets.cmake)
endif()
