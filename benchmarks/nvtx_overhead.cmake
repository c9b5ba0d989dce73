# Included by benchmarks/CMakeLists.txt.
add_executable(nvtx_overhead ${PROJECT_SOURCE_DIR}/benchmarks/nvtx_overhead.cpp
                             ${PROJECT_SOURCE_DIR}/tests/inject/nvtx_client.c)
set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/inject/nvtx_client.c PROPERTIES COMPILE_OPTIONS -Wno-pedantic)
target_link_libraries(nvtx_overhead PRIVATE ${CMAKE_DL_LIBS})

add_library(nccl_nothing SHARED nccl_nothing.c)
set_target_properties(nccl_nothing PROPERTIES OUTPUT_NAME nccl SUFFIX .so.2
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/nccl)
add_dependencies(nvtx_overhead nccl_nothing)
target_compile_definitions(nvtx_overhead PRIVATE GSD_BENCH_NCCL="$<TARGET_FILE:nccl_nothing>")
