# SPDX-License-Identifier: BSL-1.0

# mortise_embed_lua(TARGET FOLDER): makes redis_lua.hpp of the scripts in that folder, each as a
# text named like its file, and puts it where the sources of the target find it. A script that
# changes configures anew.
function(mortise_embed_lua target folder)
    file(GLOB scripts CONFIGURE_DEPENDS "${folder}/*.lua")
    set(texts "")
    foreach(script IN LISTS scripts)
        get_filename_component(name "${script}" NAME_WE)
        file(READ "${script}" text)
        string(APPEND texts "inline constexpr std::string_view ${name} = R\"lua(${text})lua\";\n\n")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${script}")
    endforeach()
    set(made "${CMAKE_CURRENT_BINARY_DIR}/lua/redis_lua.hpp")
    file(WRITE "${made}.new" "#ifndef MORTISE_REDIS_LUA_HPP\n#define MORTISE_REDIS_LUA_HPP\n\n"
        "#include <string_view>\n\nnamespace mortise::store_detail::redis_lua {\n\n${texts}"
        "}  // namespace mortise::store_detail::redis_lua\n\n#endif\n")
    file(COPY_FILE "${made}.new" "${made}" ONLY_IF_DIFFERENT)
    target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/lua")
endfunction()
