# Deletes the compiled objects: SwiftPM does not see that a C header of a system module changed, and would keep exports
# that no longer match ntapi.h. Run as cmake -DFOLDER=<scratch>/<configuration> -DSTAMP=FILE -DHEADERS=LIST -P. It compares
# the times itself, because a second build that shares the scratch folder does not know when the stamp was made.
foreach(header ${HEADERS})
  if("${header}" IS_NEWER_THAN "${STAMP}")
    file(GLOB objects "${FOLDER}/NTApi.build/*.o" "${FOLDER}/NTApiABI.build/*.o")
    if(objects)
      file(REMOVE ${objects})
    endif()
    break()
  endif()
endforeach()
file(TOUCH "${STAMP}")
