# libntapi-redis.so, a library of its own: a store on a Redis server, over hiredis. `make hiredis` builds a static hiredis;
# that of Debian 13 or another system is fine, too.
pkg_check_modules(HIREDIS REQUIRED IMPORTED_TARGET hiredis_ssl>=1.2 hiredis>=1.2)
pkg_check_modules(OPENSSL REQUIRED IMPORTED_TARGET libssl libcrypto)
pkg_check_modules(REDIS_CURL REQUIRED IMPORTED_TARGET libcurl>=7.88)
find_package(Threads REQUIRED)

set(redis "${PROJECT_SOURCE_DIR}/Sources/CNTApiRedis")
set(redis_map "${PROJECT_SOURCE_DIR}/cmake/ntapi-redis.map")
add_library(ntapi_redis SHARED "${redis}/address.c" "${redis}/link.c" "${redis}/tls.c"
                               "${PROJECT_SOURCE_DIR}/Sources/NTApiRedisABI/ntapi_redis.c")
target_include_directories(ntapi_redis PRIVATE "${redis}/include")
target_include_directories(ntapi_redis INTERFACE "${PROJECT_SOURCE_DIR}/include")
target_compile_definitions(ntapi_redis PRIVATE NTAPI_REDIS _GNU_SOURCE)
target_compile_options(ntapi_redis PRIVATE -std=c11 -g -Wall -Wextra -Werror -pedantic -fno-math-errno)
target_link_libraries(ntapi_redis PUBLIC ntapi::ntapi PRIVATE PkgConfig::HIREDIS PkgConfig::OPENSSL PkgConfig::REDIS_CURL
                                                              Threads::Threads)
# Never unmapped (nodelete), because its thread keeps running.
target_link_options(ntapi_redis PRIVATE "LINKER:--version-script=${redis_map},--gc-sections,-z,relro,-z,now,-z,nodelete")
set_target_properties(
  ntapi_redis
  PROPERTIES OUTPUT_NAME ntapi-redis
             VERSION "${PROJECT_VERSION}"
             SOVERSION "${PROJECT_VERSION_MAJOR}"
             LINK_DEPENDS "${redis_map}"
             BUILD_WITH_INSTALL_RPATH ON
             LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
add_library(ntapi::redis ALIAS ntapi_redis)
