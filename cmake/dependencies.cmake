# SPDX-License-Identifier: BSL-1.0
# Third-party libraries. What each component of the installed package asks for is read off the
# targets in install.cmake.

include(find_packages)
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON) # users of add_subdirectory link them, too

# mortise_need(PACKAGE USER REMEDY)
function(mortise_need package user remedy)
    mortise_find(failure ${package} "${user}")
    if(failure)
        message(FATAL_ERROR "${failure}${remedy}.")
    endif()
endfunction()

# `./run` unpacks Boost in .deps when the system's own is too old. Whoever adds this folder to a
# project of theirs gets that one, too.
mortise_find_boost(failure "${PROJECT_SOURCE_DIR}/.deps/boost/root/usr")
if(failure)
    message(FATAL_ERROR "${failure}.")
endif()

mortise_need(Threads "mortise" "")
if(MORTISE_WITH_REDIS)
    mortise_need(OpenSSL "The Redis store"
        ", or switch the store off with -DMORTISE_WITH_REDIS=OFF")
elseif(MORTISE_WITH_HTTP AND MORTISE_WITH_SQLITE)
    mortise_need(OpenSSL "The TLS of HTTP participants"
        ", or switch them off with -DMORTISE_WITH_HTTP=OFF")
endif()
if(MORTISE_WITH_SQLITE)
    mortise_need(SQLite3 "The SQLite store"
        ", or switch the store off with -DMORTISE_WITH_SQLITE=OFF")
endif()
if(MORTISE_WITH_KAFKA)
    mortise_need(RdKafka "The Kafka producer"
        ", or switch Kafka off with -DMORTISE_WITH_KAFKA=OFF")
endif()

if(MORTISE_WITH_POSTGRES)
    mortise_need(PostgreSQL "The session with PostgreSQL"
        ", or switch it off with -DMORTISE_WITH_POSTGRES=OFF")
endif()
if(MORTISE_WITH_ZOOKEEPER)
    mortise_need(ZooKeeper "The ZooKeeper store"
        ", or switch the store off with -DMORTISE_WITH_ZOOKEEPER=OFF")
endif()
if(MORTISE_WITH_MYSQL)
    mortise_need(BoostCharconv "The session with MariaDB and MySQL"
        ", or switch it off with -DMORTISE_WITH_MYSQL=OFF")
    mortise_need(OpenSSL "The session with MariaDB and MySQL"
        ", or switch it off with -DMORTISE_WITH_MYSQL=OFF")
endif()
