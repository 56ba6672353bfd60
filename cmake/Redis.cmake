# libntapi-redis.so, a library of its own: a store on a Redis server, over hiredis. `make hiredis` builds a static hiredis;
# that of Debian 13 or another system is fine, too.
pkg_check_modules(HIREDIS REQUIRED IMPORTED_TARGET hiredis_ssl>=1.2 hiredis>=1.2)
pkg_check_modules(OPENSSL REQUIRED IMPORTED_TARGET libssl libcrypto)
find_package(Threads REQUIRED)
set(NTAPI_OPENSSL "" CACHE PATH "OpenSSL's sources with its archives, for the target ntapi_redis_wheel")

set(redis "${PROJECT_SOURCE_DIR}/Sources/CNTApiRedis")
set(redis_map "${PROJECT_SOURCE_DIR}/cmake/ntapi-redis.map")

function(add_redis_library name folder)
  add_library(${name} SHARED "${redis}/address.c" "${redis}/cipher.c" "${redis}/link.c" "${redis}/tls.c"
                             "${PROJECT_SOURCE_DIR}/Sources/NTApiRedisABI/ntapi_redis.c")
  target_include_directories(${name} PRIVATE "${redis}/include" INTERFACE "${PROJECT_SOURCE_DIR}/include")
  target_compile_definitions(${name} PRIVATE NTAPI_REDIS _GNU_SOURCE)
  target_compile_options(${name} PRIVATE -std=c11 -g -Wall -Wextra -Werror -pedantic)
  target_link_libraries(${name} PUBLIC ntapi::ntapi PRIVATE PkgConfig::HIREDIS Threads::Threads)
  # Never unmapped (nodelete), because its thread keeps running.
  target_link_options(${name} PRIVATE "LINKER:--version-script=${redis_map},--gc-sections,-z,relro,-z,now,-z,nodelete")
  set_target_properties(
    ${name}
    PROPERTIES OUTPUT_NAME ntapi-redis
               VERSION "${PROJECT_VERSION}"
               SOVERSION "${PROJECT_VERSION_MAJOR}"
               LINK_DEPENDS "${redis_map}"
               BUILD_WITH_INSTALL_RPATH ON
               LIBRARY_OUTPUT_DIRECTORY "${folder}")
endfunction()

add_redis_library(ntapi_redis "${PROJECT_BINARY_DIR}")
target_link_libraries(ntapi_redis PRIVATE PkgConfig::OPENSSL)
add_library(ntapi::redis ALIAS ntapi_redis)

# Of the wheel ntapi-redis: OpenSSL is in it, because each system has another one.
if(NTAPI_OPENSSL)
  add_redis_library(ntapi_redis_wheel "${PROJECT_BINARY_DIR}/wheel")
  set_target_properties(ntapi_redis_wheel PROPERTIES EXCLUDE_FROM_ALL ON)
  target_include_directories(ntapi_redis_wheel BEFORE PRIVATE "${NTAPI_OPENSSL}/include")
  target_link_libraries(ntapi_redis_wheel PRIVATE "${NTAPI_OPENSSL}/libssl.a" "${NTAPI_OPENSSL}/libcrypto.a"
                                                  ${CMAKE_DL_LIBS})
endif()
