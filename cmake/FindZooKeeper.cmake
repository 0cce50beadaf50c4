# SPDX-License-Identifier: BSL-1.0
# ZooKeeper's C client without threads of its own, 3.8 or newer, as the target ZooKeeper::client.
# Distributions' packages bring no CMake files; ZooKeeper_ROOT or CMAKE_PREFIX_PATH says where else
# to look.

find_path(ZooKeeper_INCLUDE_DIR NAMES zookeeper/zookeeper.h
    DOC "The folder of zookeeper/zookeeper.h")
find_library(ZooKeeper_LIBRARY NAMES zookeeper_st DOC "ZooKeeper's C client without threads")
mark_as_advanced(ZooKeeper_INCLUDE_DIR ZooKeeper_LIBRARY)

# #define ZOO_VERSION "3.8.0"
if(ZooKeeper_INCLUDE_DIR)
    file(STRINGS "${ZooKeeper_INCLUDE_DIR}/zookeeper/zookeeper_version.h" ZooKeeper_line
        REGEX "^#define ZOO_VERSION +\"[0-9.]+")
    if(ZooKeeper_line MATCHES "\"([0-9.]+)")
        set(ZooKeeper_VERSION "${CMAKE_MATCH_1}")
    endif()
endif()
if(ZooKeeper_VERSION AND ZooKeeper_VERSION VERSION_LESS 3.8)
    unset(ZooKeeper_LIBRARY CACHE)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ZooKeeper
    REQUIRED_VARS ZooKeeper_LIBRARY ZooKeeper_INCLUDE_DIR VERSION_VAR ZooKeeper_VERSION)

if(ZooKeeper_FOUND AND NOT TARGET ZooKeeper::client)
    add_library(ZooKeeper::client UNKNOWN IMPORTED)
    set_target_properties(ZooKeeper::client PROPERTIES
        IMPORTED_LOCATION "${ZooKeeper_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${ZooKeeper_INCLUDE_DIR}")
endif()
