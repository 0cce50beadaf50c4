# SPDX-License-Identifier: BSL-1.0
# The programs that tests start: MORTISE_REDIS_SERVER, MORTISE_OPENSSL, for Kafka MORTISE_JAVA with
# MORTISE_KAFKA_LIBS, and database servers with data directories that ./run has prepared:
# MORTISE_POSTGRES with MORTISE_POSTGRES_DATA, MORTISE_MARIADBD with MORTISE_MARIADB_DATA. Nothing
# else asks for them, and no service of the system is used.

# Debian's redis-tools has the server's binary under the name of another of its tools; which of them
# it is, it decides by the name that it is called by.
function(mortise_find_redis_server)
    if(MORTISE_REDIS_SERVER AND NOT EXISTS "${MORTISE_REDIS_SERVER}")
        unset(MORTISE_REDIS_SERVER CACHE) # it has been removed since
    endif()
    find_program(MORTISE_REDIS_SERVER NAMES redis-server
        HINTS "${PROJECT_SOURCE_DIR}/.deps/redis" "${PROJECT_BINARY_DIR}/redis"
        DOC "The Redis server that tests start")
    if(MORTISE_REDIS_SERVER)
        return()
    endif()
    find_program(mortise_redis_tool NAMES redis-check-rdb NO_CACHE)
    if(mortise_redis_tool)
        set(link "${PROJECT_BINARY_DIR}/redis/redis-server")
        file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/redis")
        file(CREATE_LINK "${mortise_redis_tool}" "${link}" SYMBOLIC)
        set(MORTISE_REDIS_SERVER "${link}" CACHE FILEPATH "The Redis server that tests start" FORCE)
    endif()
endfunction()

mortise_find_redis_server()
set(redis_version 0)
if(MORTISE_REDIS_SERVER)
    execute_process(COMMAND "${MORTISE_REDIS_SERVER}" --version
        OUTPUT_VARIABLE redis_says ERROR_VARIABLE redis_says RESULT_VARIABLE redis_failed)
    if(redis_failed EQUAL 0 AND redis_says MATCHES "v=([0-9.]+)")
        set(redis_version "${CMAKE_MATCH_1}")
    endif()
endif()
if(redis_version VERSION_LESS 7)
    message(FATAL_ERROR "The tests need a Redis server of version 7 or newer: install redis-tools "
        "(which contains it), name one with -DMORTISE_REDIS_SERVER=/path/to/redis-server, or leave "
        "the tests out with -DMORTISE_BUILD_TESTS=OFF.")
endif()

find_program(MORTISE_OPENSSL NAMES openssl DOC "The command that makes certificates for tests")
if(NOT MORTISE_OPENSSL)
    message(FATAL_ERROR "The tests need the command openssl, for certificates: install openssl, or "
        "leave the tests out with -DMORTISE_BUILD_TESTS=OFF.")
endif()

find_program(MORTISE_JAVA NAMES java DOC "The Java 17 that runs Kafka and ZooKeeper for tests")
if(MORTISE_WITH_KAFKA)
    set(MORTISE_KAFKA_LIBS "${PROJECT_SOURCE_DIR}/.deps/kafka/libs" CACHE PATH
        "The folder with the jars of a Kafka broker, 3.9 or newer")
    file(GLOB kafka_jar "${MORTISE_KAFKA_LIBS}/kafka_2.*.jar")
    if(NOT MORTISE_JAVA OR NOT kafka_jar)
        message(FATAL_ERROR "The tests need a Kafka broker of their own: `./run test` fetches one. "
            "Else install openjdk-17-jre-headless and name the folder with Kafka's jars with "
            "-DMORTISE_KAFKA_LIBS=/path/to/kafka/libs; or leave Kafka out with "
            "-DMORTISE_WITH_KAFKA=OFF, or the tests with -DMORTISE_BUILD_TESTS=OFF.")
    endif()
endif()

# mortise_find_database(NAME PROGRAM DATA PACKAGE FOLDERS...): PROGRAM and DATA are variables, and
# MORTISE_TESTS_AT_NAME says whether tests can have such a server. Without one they are left out.
function(mortise_find_database name program data package)
    string(TOUPPER ${name} upper)
    if(${program} AND NOT EXISTS "${${program}}")
        unset(${program} CACHE) # it has been removed since
    endif()
    string(REGEX REPLACE "^MORTISE_" "" file ${program})
    string(TOLOWER ${file} file)
    find_program(${program} NAMES ${file} HINTS ${ARGN} DOC "The ${name} server that tests start")
    set(${data} "${PROJECT_SOURCE_DIR}/.deps/${name}/data" CACHE PATH
        "An empty data directory of that server")
    set(found OFF)
    if(${program} AND EXISTS "${${data}}")
        set(found ON)
    else()
        message(STATUS "Tests at a ${name} server are left out: `./run test` "
            "installs ${package} and prepares ${${data}}")
    endif()
    set(MORTISE_TESTS_AT_${upper} ${found} PARENT_SCOPE)
endfunction()

if(MORTISE_WITH_POSTGRES)
    file(GLOB postgres_folders "/usr/lib/postgresql/*/bin")
    list(SORT postgres_folders COMPARE NATURAL ORDER DESCENDING)
    if(MORTISE_POSTGRES MATCHES "^/usr/lib/postgresql/" AND postgres_folders)
        list(GET postgres_folders 0 newest) # ./run prepares the data directory of the newest
        if(NOT MORTISE_POSTGRES STREQUAL "${newest}/postgres")
            unset(MORTISE_POSTGRES CACHE)
        endif()
    endif()
    mortise_find_database(postgres MORTISE_POSTGRES MORTISE_POSTGRES_DATA postgresql-15
        ${postgres_folders})
endif()
if(MORTISE_WITH_MYSQL)
    mortise_find_database(mariadb MORTISE_MARIADBD MORTISE_MARIADB_DATA mariadb-server-core
        /usr/sbin)
endif()

# ZooKeeper's C client, and the server of Debian's package. Without them its tests are left out.
set(MORTISE_ZOOKEEPER_CLASSES "" CACHE STRING "The class path of a ZooKeeper server, 3.8 or newer")
if(NOT MORTISE_ZOOKEEPER_CLASSES AND EXISTS /usr/share/java/zookeeper.jar)
    set(zookeeper_jars zookeeper zookeeper-jute slf4j-api slf4j-simple metrics-core snappy-java
        commons-cli netty-all netty-buffer netty-common netty-handler netty-transport)
    list(TRANSFORM zookeeper_jars REPLACE "(.+)" "/usr/share/java/\\1.jar")
    list(JOIN zookeeper_jars ":" MORTISE_ZOOKEEPER_CLASSES)
endif()
set(MORTISE_TESTS_AT_ZOOKEEPER OFF)
if(TARGET mortise_zookeeper AND MORTISE_JAVA AND MORTISE_ZOOKEEPER_CLASSES)
    set(MORTISE_TESTS_AT_ZOOKEEPER ON)
else()
    message(STATUS "Tests at a ZooKeeper server are left out: `./run test` installs "
        "libzookeeper-st-dev and zookeeper")
endif()
