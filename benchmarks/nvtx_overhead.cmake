# Included by benchmarks/CMakeLists.txt.
add_executable(nvtx_overhead ${PROJECT_SOURCE_DIR}/benchmarks/nvtx_overhead.cpp
                             ${PROJECT_SOURCE_DIR}/tests/inject/nvtx_client.c)
set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/inject/nvtx_client.c PROPERTIES COMPILE_OPTIONS -Wno-pedantic)
target_link_libraries(nvtx_overhead PRIVATE ${CMAKE_DL_LIBS})
