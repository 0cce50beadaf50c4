# SPDX-License-Identifier: BSL-1.0

# mortise_add_store(NAME SOURCES... [HEADERS...] [LINKS...])
#
# The library mortise::NAME: a store with its client library, and mortise::lock below it.
#
# open_store() opens what is linked into the program. One of the sources defines the function
# pointer `mortise_NAME_opener` (src/url/store_opener.hpp), to which mortise::lock refers weakly.
# A linker takes nothing out of a static library for the sake of a weak reference, so the library
# has every program ask for that name; a shared one is asked for even if nothing else calls it.
function(mortise_add_store name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;LINKS")
    mortise_library(${name}
        SOURCES ${arg_SOURCES} HEADERS ${arg_HEADERS} LINKS mortise_lock ${arg_LINKS})
    get_target_property(kind mortise_${name} TYPE)
    if(kind STREQUAL "STATIC_LIBRARY")
        target_link_options(mortise_${name} INTERFACE "LINKER:-u,mortise_${name}_opener")
    else()
        target_link_options(mortise_${name} INTERFACE "LINKER:--no-as-needed")
    endif()
endfunction()
