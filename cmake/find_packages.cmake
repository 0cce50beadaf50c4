# SPDX-License-Identifier: BSL-1.0
# Looks for the packages that mortise needs, for its own build and for mortise-config.cmake, beside
# which this file is installed.

# mortise_find_boost(FAILURE FOLDERS...): Boost where CMake finds it, else in one of these folders.
# FAILURE is a sentence if there is none.
function(mortise_find_boost failure)
    set(${failure} "" PARENT_SCOPE)
    find_package(Boost 1.88 CONFIG QUIET)
    set(seen "none was found")
    if(Boost_CONSIDERED_VERSIONS)
        list(REMOVE_DUPLICATES Boost_CONSIDERED_VERSIONS)
        list(JOIN Boost_CONSIDERED_VERSIONS ", " seen)
        set(seen "only ${seen} was found")
    endif()
    if(NOT Boost_FOUND AND NOT TARGET Boost::headers) # targets of an older one would stay
        find_package(Boost 1.88 CONFIG QUIET PATHS ${ARGN} NO_DEFAULT_PATH)
    endif()
    if(NOT Boost_FOUND)
        string(CONCAT sentence "mortise needs Boost 1.88 or newer, and ${seen}: install it, or set "
            "Boost_ROOT to the folder of yours, or let `./run build` in mortise's own folder fetch "
            "it")
        set(${failure} "${sentence}" PARENT_SCOPE)
    endif()
    set(Boost_DIR "${Boost_DIR}" PARENT_SCOPE)
endfunction()

# mortise_find(FAILURE PACKAGE USER): any other package. USER says who needs it, for the sentence.
function(mortise_find failure package user)
    set(${failure} "" PARENT_SCOPE)
    set(how QUIET)
    if(package STREQUAL "PostgreSQL")
        list(PREPEND how 14) # the first with a pipeline mode
    endif()
    if(package MATCHES "^(RdKafka|ZooKeeper)$")
        list(APPEND how MODULE)
        # The modules are beside this file.
        list(PREPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
    elseif(package STREQUAL "Threads")
        set(THREADS_PREFER_PTHREAD_FLAG ON)
    endif()
    if(package STREQUAL "BoostCharconv") # a part of the Boost that was found, as an archive
        set(Boost_USE_STATIC_LIBS ON)
        find_package(boost_charconv CONFIG QUIET PATHS "${Boost_DIR}/.." NO_DEFAULT_PATH)
        set(BoostCharconv_FOUND ${boost_charconv_FOUND})
    else()
        find_package(${package} ${how})
    endif()
    if(NOT ${package}_FOUND)
        set(Threads_needed "a thread library: install the C library's development files")
        set(OpenSSL_needed "OpenSSL's development files: install libssl-dev")
        set(SQLite3_needed "SQLite's development files: install libsqlite3-dev")
        set(PostgreSQL_needed "libpq 14 or newer with its development files: install libpq-dev")
        set(BoostCharconv_needed "the library Boost.Charconv: install libboost-charconv1.88-dev")
        set(ZooKeeper_needed
            "ZooKeeper's C client 3.8 or newer: install libzookeeper-st-dev")
        set(RdKafka_needed
            "librdkafka 2.0 or newer with its development files: install librdkafka-dev")
        set(${failure} "${user} needs ${${package}_needed}" PARENT_SCOPE)
    endif()
endfunction()
