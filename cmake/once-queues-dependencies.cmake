if(NOT TARGET once::open)
  include(${CMAKE_CURRENT_LIST_DIR}/once-open-dependencies.cmake)
  include(${CMAKE_CURRENT_LIST_DIR}/once-open-targets.cmake)
endif()
# The brokers are components, too.
if("sqs" IN_LIST once_installed_components AND NOT TARGET once::sqs)
  include(${CMAKE_CURRENT_LIST_DIR}/once-sqs-dependencies.cmake)
  include(${CMAKE_CURRENT_LIST_DIR}/once-sqs-targets.cmake)
endif()
