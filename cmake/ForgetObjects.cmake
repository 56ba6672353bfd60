# Deletes the compiled objects: SwiftPM does not see that a C header of a system module changed, and would keep exports
# that no longer match ntapi.h. Run as cmake -DFOLDER=<scratch>/<configuration> -DSTAMP=FILE -DHEADERS=LIST -P. It compares
# the times itself, because a second build that shares the scratch folder does not know when the stamp was made. Without a
# stamp, another build has made the objects, and their own times count.
file(GLOB objects "${FOLDER}/NTApi.build/*.o" "${FOLDER}/NTApiABI.build/*.o")
set(made "${STAMP}")
if(NOT EXISTS "${STAMP}")
  set(made ${objects})
endif()
set(newest)
foreach(header ${HEADERS})
  if(NOT newest OR "${header}" IS_NEWER_THAN "${newest}")
    set(newest "${header}")
  endif()
endforeach()
foreach(file ${made})
  if("${newest}" IS_NEWER_THAN "${file}")
    if(objects)
      file(REMOVE ${objects})
    endif()
    break()
  endif()
endforeach()
file(TOUCH "${STAMP}")
