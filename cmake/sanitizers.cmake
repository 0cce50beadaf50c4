# SPDX-License-Identifier: BSL-1.0
# MORTISE_SANITIZE applies to everything that is built in this tree.

if(MORTISE_SANITIZE)
    if(NOT MORTISE_SANITIZE MATCHES "^(address|undefined|address,undefined|thread)$")
        message(FATAL_ERROR "MORTISE_SANITIZE is '${MORTISE_SANITIZE}': it must be empty, "
            "'address,undefined' or 'thread'.")
    endif()
    add_compile_options(-fsanitize=${MORTISE_SANITIZE} -fno-omit-frame-pointer
        -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${MORTISE_SANITIZE})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND MORTISE_SANITIZE STREQUAL "thread")
        add_compile_options(-Wno-tsan) # the fences of libstdc++ itself
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND MORTISE_SANITIZE MATCHES "undefined"
       AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
        # "Cannot represent a difference across sections" on coroutines
        add_compile_options(-fno-sanitize=function)
    endif()
endif()
