# cmake --install: the library, its headers, the pkg-config file and the CMake package (ntapi::ntapi). A component is a
# Debian package (Packages.cmake).
include(CMakePackageConfigHelpers)

set(library_name "libntapi.so.${PROJECT_VERSION}")
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/ntapi")

install(FILES "${PROJECT_BINARY_DIR}/${library_name}" "${PROJECT_BINARY_DIR}/libntapi.so.${PROJECT_VERSION_MAJOR}"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library)
install(FILES "${PROJECT_BINARY_DIR}/libntapi.so" DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
# CMake strips only the targets that it links itself.
find_program(NTAPI_STRIP strip)
install(
  CODE "if(CMAKE_INSTALL_DO_STRIP)
  execute_process(
    COMMAND \"${NTAPI_STRIP}\" --strip-unneeded
            \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/${library_name}\" COMMAND_ERROR_IS_FATAL ANY)
endif()" COMPONENT library)

# ntapi_python.h is for the Python package alone, which has its own table of it.
install(FILES include/ntapi.h include/ntapi_store.h include/ntapi_testing.h include/ntapi_jansson.h
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)

# The prefix is computed from the location of this file, so that `cmake --install --prefix` and a moved tree both work.
file(RELATIVE_PATH up_to_prefix "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
configure_file(cmake/ntapi.pc.in ntapi.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/ntapi.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
        COMPONENT development)

configure_package_config_file(cmake/ntapiConfig.cmake.in ntapiConfig.cmake INSTALL_DESTINATION "${package_folder}"
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
# Before 1.0 a minor version may break compatibility.
write_basic_package_version_file(ntapiConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/ntapiConfig.cmake" "${PROJECT_BINARY_DIR}/ntapiConfigVersion.cmake"
        DESTINATION "${package_folder}" COMPONENT development)

if(TARGET ntapi_redis)
  install(TARGETS ntapi_redis LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT redis
                                      NAMELINK_COMPONENT redis_development)
  install(FILES include/ntapi_redis.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT redis_development)
  configure_file(cmake/ntapi-redis.pc.in ntapi-redis.pc @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/ntapi-redis.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
          COMPONENT redis_development)
endif()
