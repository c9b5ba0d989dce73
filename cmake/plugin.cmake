# gsd_plugin(NAME sources… libraries…): a library that the program opens when it is asked for (src/base/plugin.h), in the
# one folder where a build looks for them. Its own copies of our code stay hidden: the program's are not to be taken instead.
function(gsd_plugin name)
  set(sources ${ARGN})
  list(FILTER sources INCLUDE REGEX "\\.(cpp|cu)$")
  set(libraries ${ARGN})
  list(FILTER libraries EXCLUDE REGEX "\\.(cpp|cu)$")
  add_library(${name} SHARED ${sources})
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/plugins)
  target_compile_definitions(${name} PRIVATE GSD_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${name} PRIVATE ${libraries})
  target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL)
endfunction()
