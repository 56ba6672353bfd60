# libntapi.so from the Swift package, and the target ntapi::ntapi to link with.
#
# SwiftPM cannot set a SONAME or a version script in a package that others depend on by version, hence two steps: it
# compiles (the target `ntapi_swift`, run at each build because only SwiftPM knows what changed), swiftc links.

set(scratch "${NTAPI_SWIFT_SCRATCH}")
set(configuration release)
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(configuration debug)
endif()
set(objects "${scratch}/${configuration}/NTApiABI.product/Objects.LinkFileList")
set(archive "${scratch}/${configuration}/libNTApiABI.a")

# SwiftPM's folder has its own path in it. In a clone that was moved or copied it would fail. CMake refuses its own folder
# then; `make` removes both (Tests/tools/moved.py), but `cmake --fresh` keeps this one.
file(REAL_PATH "${scratch}" real_scratch)
file(GLOB manifests "${scratch}/*.yaml")
foreach(manifest ${manifests})
  file(READ "${manifest}" text)
  string(FIND "${text}" "\"${real_scratch}/" found)
  string(FIND "${text}" "-unknown-linux-gnu/" has_paths)
  if(found EQUAL -1 AND NOT has_paths EQUAL -1)
    message(STATUS "Compiling anew, because this clone was moved or copied")
    file(REMOVE_RECURSE "${scratch}")
    break()
  endif()
endforeach()

set(swift_options -c ${configuration} --product NTApiABI --package-path "${PROJECT_SOURCE_DIR}" --scratch-path
                  "${scratch}")
# Never unmapped (nodelete), because its threads keep running.
set(link_options
    -static-stdlib
    -emit-library
    -use-ld=lld
    -Xlinker
    -soname=libntapi.so.${PROJECT_VERSION_MAJOR}
    -Xlinker
    --version-script=${PROJECT_SOURCE_DIR}/cmake/ntapi.map
    -Xlinker
    --no-undefined-version
    -Xlinker
    --gc-sections
    -Xlinker
    --icf=all
    -Xlinker
    -O2
    -Xlinker
    -z
    -Xlinker
    relro
    -Xlinker
    -z
    -Xlinker
    now
    -Xlinker
    -z
    -Xlinker
    nodelete)
if(NOT NTAPI_LOGGING)
  list(APPEND swift_options --traits NoLogging)
endif()
if(NTAPI_SANITIZE)
  list(APPEND swift_options --sanitize=${NTAPI_SANITIZE})
  if(NTAPI_SANITIZE STREQUAL "thread")
    list(APPEND swift_options -Xswiftc -DTHREAD_SANITIZER)
  endif()
  # The runtime's symbols stay undefined here: the executable brings them.
  list(APPEND link_options -sanitize=${NTAPI_SANITIZE})
else()
  list(APPEND link_options -Xlinker -z -Xlinker defs)
  if(NTAPI_PACK_RELOCATIONS)
    list(APPEND link_options -Xlinker -z -Xlinker pack-relative-relocs)
  endif()
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/static")
  # Backtraces and debuggers find their way through the library by its unwind tables, which take 1 MB.
  list(APPEND link_options -Xlinker --eh-frame-hdr)
  if(configuration STREQUAL "release")
    # Nothing outside the library calls its Swift functions, so the linker may drop those that nothing in it calls: 0.6 MB
    # of ours and 0.9 MB of Swift's own library. Without the names of fields and cases it is another 0.25 MB smaller: a value
    # is printed by its description or rawValue, not by reflection.
    set(compile_options)
    foreach(option -function-sections -internalize-at-link -disable-reflection-metadata)
      list(APPEND compile_options -Xswiftc -Xfrontend -Xswiftc ${option})
    endforeach()
    list(APPEND swift_options ${compile_options})
    # A program that is built with the same options takes what was compiled for the library (Tests/tools/demo.py).
    list(JOIN compile_options " " text)
    file(WRITE "${scratch}/options" "${text}")
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    file(REAL_PATH "${NTAPI_SWIFTC}" swift_core)
    cmake_path(SET swift_core NORMALIZE "${swift_core}/../../lib/swift_static/linux/libswiftCore.a")
    set(core "${PROJECT_BINARY_DIR}/static/libswiftCore.a")
    # In this copy the runtime takes its locks through cmake/fork_gate.c.
    set(gate "${PROJECT_SOURCE_DIR}/cmake/fork_gate.c")
    set(gate_symbols
        --redefine-sym
        pthread_mutex_lock=ntapi_gate_mutex_lock
        --redefine-sym
        pthread_mutex_unlock=ntapi_gate_mutex_unlock
        --redefine-sym
        __cxa_guard_acquire=ntapi_gate_guard_acquire
        --redefine-sym
        __cxa_guard_release=ntapi_gate_guard_release)
    list(APPEND link_options -Xlinker --wrap=_ZN5swift14threading_impl9once_slowERNS0_6once_tEPFvPvES3_)
    add_library(fork_gate OBJECT "${gate}")
    target_compile_options(fork_gate PRIVATE -fPIC -O2 -Wall -Wextra -Werror)
    set(gate_objects "$<TARGET_OBJECTS:fork_gate>")
    add_custom_command(
      OUTPUT "${core}"
      COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cmake/unretain.py" "${swift_core}" "${core}"
      COMMAND "${CMAKE_OBJCOPY}" ${gate_symbols} "${core}"
      DEPENDS "${swift_core}" "${PROJECT_SOURCE_DIR}/cmake/unretain.py"
      COMMENT "" VERBATIM)
    list(APPEND link_options -Xlinker -T -Xlinker "${PROJECT_SOURCE_DIR}/cmake/sections.ld")
  endif()
  # Swift's runtime needs 80 KB of the C++ runtime. Loading all of it takes almost a millisecond when a process starts. A
  # folder that has only the archive makes the linker use the archive.
  execute_process(COMMAND "${CMAKE_C_COMPILER}" -print-file-name=libstdc++.a OUTPUT_VARIABLE archive_of_cxx
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(IS_ABSOLUTE "${archive_of_cxx}")
    file(CREATE_LINK "${archive_of_cxx}" "${PROJECT_BINARY_DIR}/static/libstdc++.a" SYMBOLIC)
    list(APPEND link_options "-L${PROJECT_BINARY_DIR}/static")
  endif()
endif()

file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/*" "${PROJECT_SOURCE_DIR}/Sources/C*/*")
list(FILTER headers EXCLUDE REGEX "[Rr]edis") # the library does not use them
add_custom_command(
  OUTPUT "${scratch}/headers.stamp"
  COMMAND "${CMAKE_COMMAND}" -DFOLDER=${scratch}/${configuration} -DSTAMP=${scratch}/headers.stamp "-DHEADERS=${headers}" -P
          "${PROJECT_SOURCE_DIR}/cmake/ForgetObjects.cmake"
  DEPENDS ${headers}
  COMMENT "" VERBATIM)

add_custom_target(
  ntapi_swift
  COMMAND "${NTAPI_SWIFT}" build ${swift_options}
  DEPENDS "${scratch}/headers.stamp"
  BYPRODUCTS "${archive}" "${objects}"
  COMMENT "Compiling the Swift sources"
  USES_TERMINAL VERBATIM)

# SwiftPM's own list names the objects, so that an object of a deleted source file is never linked. The archive with the
# same objects shows that one of them has changed. Linking the archive itself would lose the exports.
set(soname "libntapi.so.${PROJECT_VERSION_MAJOR}")
set(library "${PROJECT_BINARY_DIR}/libntapi.so.${PROJECT_VERSION}")
add_custom_command(
  OUTPUT "${library}"
  COMMAND "${NTAPI_SWIFTC}" ${link_options} -o "${library}" "@${objects}" ${gate_objects} ${core} ${NTAPI_NEEDS_LDFLAGS}
  COMMAND "${CMAKE_COMMAND}" -E create_symlink "libntapi.so.${PROJECT_VERSION}" "${PROJECT_BINARY_DIR}/${soname}"
  COMMAND "${CMAKE_COMMAND}" -E create_symlink "${soname}" "${PROJECT_BINARY_DIR}/libntapi.so"
  DEPENDS ntapi_swift "${archive}" ${gate_objects} ${core} "${PROJECT_SOURCE_DIR}/cmake/ntapi.map"
          "${PROJECT_SOURCE_DIR}/cmake/sections.ld"
  COMMENT "Linking libntapi.so"
  VERBATIM)
add_custom_target(ntapi_library ALL DEPENDS "${library}")

add_library(ntapi SHARED IMPORTED GLOBAL)
add_dependencies(ntapi ntapi_library)
set_target_properties(ntapi PROPERTIES IMPORTED_LOCATION "${library}" IMPORTED_SONAME "${soname}"
                                       INTERFACE_INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}/include")
if(NTAPI_SANITIZE)
  target_compile_options(ntapi INTERFACE -fsanitize=${NTAPI_SANITIZE})
  target_link_options(ntapi INTERFACE -fsanitize=${NTAPI_SANITIZE} -fuse-ld=lld)
  if(NTAPI_SANITIZE STREQUAL "thread")
    # This clang's thread sanitizer intercepts libdispatch and so needs its symbols, although nothing here uses it.
    get_filename_component(runtime "${NTAPI_SWIFTC}" REALPATH)
    get_filename_component(runtime "${runtime}/../../lib/swift/linux" ABSOLUTE)
    target_link_options(ntapi INTERFACE "LINKER:-rpath,${runtime}")
    target_link_libraries(ntapi INTERFACE "${runtime}/libdispatch.so" "${runtime}/libBlocksRuntime.so")
  endif()
endif()
add_library(ntapi::ntapi ALIAS ntapi)
