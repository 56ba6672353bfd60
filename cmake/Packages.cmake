# cpack -G DEB: libntapi0, libntapi-dev and python3-ntapi, for Debian 12 and later; with NTAPI_REDIS also libntapi-redis0
# and libntapi-redis-dev. `make packages` calls it in a build
# with the prefix /usr, so that the library is where Debian keeps libraries.
set(NTAPI_PACKAGER "The NTApi authors <ntapi@ntapi.example>" CACHE STRING "Name and address in the Debian packages")

set(python "${PROJECT_SOURCE_DIR}/bindings/python/src")
set(python_packages lib/python3/dist-packages)
install(DIRECTORY "${python}/ntapi" DESTINATION "${python_packages}" COMPONENT python EXCLUDE_FROM_ALL
        PATTERN __pycache__ EXCLUDE PATTERN "libntapi.so*" EXCLUDE)
install(FILES "${python}/pytest_ntapi.py" DESTINATION "${python_packages}" COMPONENT python EXCLUDE_FROM_ALL)
# What pip shows, and where pytest finds its plugin. The build of the wheel has written it.
install(FILES "${python}/ntapi.egg-info/PKG-INFO" "${python}/ntapi.egg-info/entry_points.txt"
        DESTINATION "${python_packages}/ntapi-${PROJECT_VERSION}.egg-info" COMPONENT python EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ntapi)
set(CPACK_PACKAGE_CONTACT "${NTAPI_PACKAGER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                                                WORLD_EXECUTE)
set(components library development python)
if(TARGET ntapi_redis)
  list(APPEND components redis redis_development)
endif()
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_COMPONENTS_GROUPING IGNORE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(debian_version "${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")

set(library_package libntapi${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${library_package})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
# dpkg-shlibdeps finds what symbols need. It knows neither packed relocations nor what older libcurls do wrong.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libcurl4 (>= 7.88)")
if(NTAPI_PACK_RELOCATIONS)
  string(APPEND CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS ", libc6 (>= 2.36)")
endif()
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/cmake/debian/triggers")
# libntapi0-dbgsym: what a debugger needs to see past the library (SwiftLibrary.cmake). The library is stripped with it.
set(CPACK_DEBIAN_LIBRARY_DEBUGINFO_PACKAGE ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "client for JSON web APIs (shared library)
NTApi is an HTTP client for JSON web APIs. A request is a command and a list
of args; the client does the encoding, JSON, timeouts, retries, rate limits,
tokens, cookies, cache, downloads and errors.

This package has the library, for programs in C and other languages.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libntapi-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library_package} (= ${debian_version})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libjansson-dev, pkg-config")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "client for JSON web APIs (headers)
NTApi is an HTTP client for JSON web APIs. This package has what is needed to
compile programs in C: the headers, and files for pkg-config and CMake.

The header ntapi_jansson.h needs libjansson-dev, too.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-ntapi)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
# The module refuses a library of another series.
math(EXPR next_minor "${PROJECT_VERSION_MINOR} + 1")
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
    "python3 (>= 3.9), ${library_package} (>= ${PROJECT_VERSION}), ${library_package} (<< ${PROJECT_VERSION_MAJOR}.${next_minor}~)")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "client for JSON web APIs (Python 3)
NTApi is an HTTP client for JSON web APIs. This package has the module ntapi,
with blocking calls, asyncio, typed services, and stubs for tests.")

# Byte code is compiled at the installation, and removed with the package.
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/cmake/debian/postinst"
                                              "${PROJECT_SOURCE_DIR}/cmake/debian/prerm")

set(redis_package libntapi-redis${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_REDIS_PACKAGE_NAME ${redis_package})
set(CPACK_DEBIAN_REDIS_PACKAGE_SECTION libs)
# libntapi.so.0 is in no package that is installed here.
set(CPACK_DEBIAN_REDIS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}")
set(CPACK_DEBIAN_REDIS_PACKAGE_DEPENDS "${library_package} (= ${debian_version})")
set(CPACK_DEBIAN_REDIS_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/cmake/debian/triggers")
set(CPACK_DEBIAN_REDIS_DEBUGINFO_PACKAGE ON)
set(CPACK_COMPONENT_REDIS_DESCRIPTION "client for JSON web APIs (limits on a Redis server)
NTApi is an HTTP client for JSON web APIs. This package has a library with
which processes share rate limits by a Redis or Valkey server.")

set(CPACK_DEBIAN_REDIS_DEVELOPMENT_PACKAGE_NAME libntapi-redis-dev)
set(CPACK_DEBIAN_REDIS_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_REDIS_DEVELOPMENT_PACKAGE_DEPENDS
    "${redis_package} (= ${debian_version}), libntapi-dev (= ${debian_version})")
set(CPACK_COMPONENT_REDIS_DEVELOPMENT_DESCRIPTION "client for JSON web APIs (limits on a Redis server, headers)
NTApi is an HTTP client for JSON web APIs. This package has what is needed to
compile programs in C that share rate limits by a Redis or Valkey server.")

# Debian wants a copyright file and a changelog in each package.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(cmake/debian/changelog.in changelog.Debian @ONLY)
find_program(NTAPI_GZIP gzip)
if(NTAPI_GZIP)
  execute_process(COMMAND "${NTAPI_GZIP}" -9nkf "${PROJECT_BINARY_DIR}/changelog.Debian" COMMAND_ERROR_IS_FATAL ANY)
endif()
foreach(component ${components})
  string(TOUPPER ${component} upper)
  set(documents "share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
  install(FILES cmake/debian/copyright "${PROJECT_BINARY_DIR}/changelog.Debian.gz" DESTINATION "${documents}"
          COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()

include(CPack)
