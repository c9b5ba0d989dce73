# bin/gradsync-doctor finds ../lib/gradsync-doctor/{libgradsync_inject.so,libgradsync_loads.so,libgradsync_gloo.so,torch/} beside it.
include(GNUInstallDirs)
install(TARGETS gradsync-doctor RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS gradsync_inject gradsync_loads LIBRARY DESTINATION lib/gradsync-doctor)
if(TARGET gradsync_cuda_loads)
  install(TARGETS gradsync_cuda_loads LIBRARY DESTINATION lib/gradsync-doctor)
endif()
if(TARGET gradsync_gloo)
  install(TARGETS gradsync_gloo LIBRARY DESTINATION lib/gradsync-doctor)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/collectors/torch/ DESTINATION lib/gradsync-doctor/torch
        FILES_MATCHING PATTERN "*.py")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
install(FILES ${PROJECT_SOURCE_DIR}/schema/report.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/gradsync-doctor)
