# SPDX-License-Identifier: BSL-1.0
# librdkafka's C library, 2.0 or newer, as the target RdKafka::rdkafka. Distributions' packages
# bring no CMake files, so it is looked for; RdKafka_ROOT or CMAKE_PREFIX_PATH says where else.

find_path(RdKafka_INCLUDE_DIR NAMES librdkafka/rdkafka.h DOC "The folder of librdkafka/rdkafka.h")
find_library(RdKafka_LIBRARY NAMES rdkafka DOC "librdkafka")
mark_as_advanced(RdKafka_INCLUDE_DIR RdKafka_LIBRARY)

# #define RD_KAFKA_VERSION 0xMMmmrrxx
if(RdKafka_INCLUDE_DIR)
    file(STRINGS "${RdKafka_INCLUDE_DIR}/librdkafka/rdkafka.h" RdKafka_line
        REGEX "^#define RD_KAFKA_VERSION +0x[0-9a-fA-F]+")
    set(RdKafka_byte "([0-9a-fA-F][0-9a-fA-F])")
    if(RdKafka_line MATCHES "0x${RdKafka_byte}${RdKafka_byte}${RdKafka_byte}")
        math(EXPR RdKafka_major "0x${CMAKE_MATCH_1}")
        math(EXPR RdKafka_minor "0x${CMAKE_MATCH_2}")
        math(EXPR RdKafka_patch "0x${CMAKE_MATCH_3}")
        set(RdKafka_VERSION "${RdKafka_major}.${RdKafka_minor}.${RdKafka_patch}")
    endif()
endif()
if(RdKafka_VERSION AND RdKafka_VERSION VERSION_LESS 2.0)
    unset(RdKafka_LIBRARY CACHE) # its transactions have faults that later ones have not
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(RdKafka
    REQUIRED_VARS RdKafka_LIBRARY RdKafka_INCLUDE_DIR VERSION_VAR RdKafka_VERSION)

if(RdKafka_FOUND AND NOT TARGET RdKafka::rdkafka)
    add_library(RdKafka::rdkafka UNKNOWN IMPORTED)
    set_target_properties(RdKafka::rdkafka PROPERTIES
        IMPORTED_LOCATION "${RdKafka_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${RdKafka_INCLUDE_DIR}")
endif()
