# The brokers are components, too.
foreach(once_queue IN LISTS once_installed_queues)
  if(NOT TARGET once::${once_queue})
    include(${CMAKE_CURRENT_LIST_DIR}/once-${once_queue}-dependencies.cmake)
    include(${CMAKE_CURRENT_LIST_DIR}/once-${once_queue}-targets.cmake)
  endif()
endforeach()
