# Deletes the compiled objects: SwiftPM does not see that a C header of a system module changed, and would keep exports
# that no longer match ntapi.h. Run as cmake -DFOLDER=<scratch>/<configuration> -P, when a header is newer than the stamp.
file(GLOB objects "${FOLDER}/NTApi.build/*.o" "${FOLDER}/NTApiABI.build/*.o")
if(objects)
  file(REMOVE ${objects})
endif()
