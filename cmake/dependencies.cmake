# SPDX-License-Identifier: BSL-1.0
# Third-party libraries. mortise-config.cmake.in asks for the same ones.

# Where `./run` unpacks Boost when the system's own is too old.
if(PROJECT_IS_TOP_LEVEL AND EXISTS "${PROJECT_SOURCE_DIR}/.deps/boost/root/usr")
    list(APPEND CMAKE_PREFIX_PATH "${PROJECT_SOURCE_DIR}/.deps/boost/root/usr")
endif()

find_package(Boost 1.88 CONFIG QUIET)
if(NOT Boost_FOUND)
    set(seen "none was found")
    if(Boost_CONSIDERED_VERSIONS)
        string(REPLACE ";" ", " seen "only ${Boost_CONSIDERED_VERSIONS} was found")
    endif()
    message(FATAL_ERROR "mortise needs Boost 1.88 or newer, and ${seen}: `./run build` fetches it, "
        "or name the folder of yours with -DCMAKE_PREFIX_PATH=/path/to/boost.")
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

if(MORTISE_WITH_REDIS)
    find_package(OpenSSL QUIET)
    if(NOT OpenSSL_FOUND)
        message(FATAL_ERROR "The Redis store needs OpenSSL's development files: install "
            "libssl-dev, or switch the store off with -DMORTISE_WITH_REDIS=OFF.")
    endif()
endif()

if(MORTISE_WITH_SQLITE)
    find_package(SQLite3 QUIET)
    if(NOT SQLite3_FOUND)
        message(FATAL_ERROR "The SQLite store needs SQLite's development files: install "
            "libsqlite3-dev, or switch the store off with -DMORTISE_WITH_SQLITE=OFF.")
    endif()
endif()

if(MORTISE_WITH_KAFKA)
    find_package(RdKafka QUIET MODULE)
    if(NOT RdKafka_FOUND)
        message(FATAL_ERROR "The Kafka producer needs librdkafka 2.0 or newer with its development "
            "files: install librdkafka-dev, or switch Kafka off with -DMORTISE_WITH_KAFKA=OFF.")
    endif()
endif()
