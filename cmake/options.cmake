# SPDX-License-Identifier: BSL-1.0

option(MORTISE_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(MORTISE_BUILD_TOOLS "Build the command-line tool" ${PROJECT_IS_TOP_LEVEL})
option(MORTISE_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(MORTISE_INSTALL "Make the install rules" ${PROJECT_IS_TOP_LEVEL})
option(MORTISE_WERROR "Treat warnings as errors" OFF)
option(MORTISE_PLANT_BUGS "Compile the bugs that the simulation must find, switched off" OFF)
if(MORTISE_PLANT_BUGS)
    add_compile_definitions(MORTISE_PLANT_BUGS)
endif()
option(MORTISE_BUILD_FUZZERS "Build the fuzz targets with libFuzzer (clang; without the tests)" OFF)
option(MORTISE_BATCHES "Compile sources in batches (fast from scratch; OFF for small rebuilds)" ON)
set(MORTISE_SANITIZE "" CACHE STRING "Sanitizers: empty, 'address,undefined' or 'thread'")
set_property(CACHE MORTISE_SANITIZE PROPERTY STRINGS "" "address,undefined" "thread")

option(MORTISE_WITH_REDIS "Build the Redis store and fence" ON)
option(MORTISE_WITH_SQLITE "Build the SQLite store, sessions and fence" ON)
option(MORTISE_WITH_KAFKA "Build the Kafka producer and sink" ON)
option(MORTISE_WITH_POSTGRES "Build the sessions with PostgreSQL" ON)
option(MORTISE_WITH_MYSQL "Build the sessions with MariaDB and MySQL" ON)
option(MORTISE_WITH_ZOOKEEPER "Build the ZooKeeper store" ON)
option(MORTISE_WITH_HTTP "Build the HTTP participants of transactions; they need SQLite" ON)

# Boost.Asio compiled once, into mortise_coro, instead of into every file. Everything that is linked
# with it must then agree, so a program that compiles Asio by itself switches it off.
option(MORTISE_ASIO_SEPARATE_COMPILATION "Compile Boost.Asio once, into mortise_coro"
    ${PROJECT_IS_TOP_LEVEL})

include(GNUInstallDirs)

if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
    if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
        set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
    endif()
    find_program(MORTISE_CCACHE ccache)
    if(MORTISE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
        # Clones in other folders share what was compiled: no path of this one gets into it.
        set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
            "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${MORTISE_CCACHE}")
        add_compile_options("-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
    endif()
    find_program(MORTISE_MOLD mold) # some thirty programs with debug information are linked
    if(MORTISE_MOLD)
        add_link_options(-fuse-ld=mold)
    endif()
endif()
