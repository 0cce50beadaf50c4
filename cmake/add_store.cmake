# SPDX-License-Identifier: BSL-1.0

# mortise_add_store(NAME SOURCES... [HEADERS...] [LINKS...])
#
# Compiles a store into mortise_lock, so that open_store() reaches it without any registration, and
# makes the target mortise::NAME, which stands for "mortise::lock with this store, and the client
# library that the store's own headers speak of". Sources ask `#ifdef MORTISE_WITH_<NAME>`.
function(mortise_add_store name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;LINKS")
    string(TOUPPER "${name}" upper)
    target_sources(mortise_lock PRIVATE ${arg_SOURCES})
    list(TRANSFORM arg_HEADERS PREPEND "include/")
    target_sources(mortise_lock PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${arg_HEADERS})
    target_link_libraries(mortise_lock PRIVATE ${arg_LINKS})
    target_compile_definitions(mortise_lock PRIVATE MORTISE_WITH_${upper}=1)

    add_library(mortise_${name} INTERFACE)
    add_library(mortise::${name} ALIAS mortise_${name})
    target_link_libraries(mortise_${name} INTERFACE mortise_lock ${arg_LINKS})
    set_target_properties(mortise_${name} PROPERTIES EXPORT_NAME ${name})
    set_property(GLOBAL APPEND PROPERTY mortise_libraries mortise_${name})
endfunction()
