# SPDX-License-Identifier: BSL-1.0
# install(), the exported targets, mortise-config.cmake and mortise.pc.

include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY mortise_libraries)
foreach(target IN LISTS libraries)
    get_target_property(kind ${target} TYPE)
    if(kind STREQUAL "INTERFACE_LIBRARY")
        install(TARGETS ${target} EXPORT mortise-targets)
    else()
        install(TARGETS ${target} EXPORT mortise-targets
            ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
            LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
            FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
    endif()
endforeach()
install(TARGETS mortise EXPORT mortise-targets)

# mortise_packages_below(RESULT TARGET): the packages, but for Boost, that TARGET and the libraries
# of mortise below it are linked with.
function(mortise_packages_below result target)
    set(packages "")
    get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
    foreach(link IN LISTS links)
        string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" link "${link}")
        if(link MATCHES "^mortise_")
            mortise_packages_below(below ${link})
            list(APPEND packages ${below})
        elseif(link MATCHES "^(Threads|SQLite3?|OpenSSL|RdKafka)::")
            string(REGEX REPLACE "^SQLite$" "SQLite3" package "${CMAKE_MATCH_1}")
            list(APPEND packages ${package})
        elseif(link AND NOT link STREQUAL "Boost::headers")
            message(FATAL_ERROR "${target} is linked with ${link}, and cmake/install.cmake does "
                "not know which package that is from.")
        endif()
    endforeach()
    list(REMOVE_DUPLICATES packages)
    set(${result} ${packages} PARENT_SCOPE)
endfunction()

set(mortise_components "")
set(mortise_component_packages "")
foreach(target IN LISTS libraries)
    get_target_property(component ${target} EXPORT_NAME)
    mortise_packages_below(packages ${target})
    list(JOIN packages " " packages)
    list(APPEND mortise_components ${component})
    string(APPEND mortise_component_packages "set(mortise_packages_of_${component} ${packages})\n")
endforeach()
list(JOIN mortise_components " " mortise_components)
string(STRIP "${mortise_component_packages}" mortise_component_packages)
set(mortise_boost_hint "")
if(NOT Boost_DIR MATCHES "^/usr/(local/)?(lib|share)")
    set(mortise_boost_hint "${Boost_DIR}")
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/mortise")
install(EXPORT mortise-targets NAMESPACE mortise:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/mortise-config.cmake.in
    "${PROJECT_BINARY_DIR}/mortise-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/mortise-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/mortise-config.cmake"
    "${PROJECT_BINARY_DIR}/mortise-config-version.cmake"
    cmake/find_packages.cmake cmake/FindRdKafka.cmake DESTINATION "${package_dir}")

# For programs that are not built by CMake. The order matters to a linker of static libraries.
set(pc_libraries)
foreach(part IN ITEMS redis tls sqlite lock coro)
    if(TARGET mortise_${part})
        get_target_property(pc_options mortise_${part} INTERFACE_LINK_OPTIONS)
        if(pc_options MATCHES "LINKER:(.*)")
            string(APPEND pc_libraries " -Wl,${CMAKE_MATCH_1}")
        endif()
        string(APPEND pc_libraries " -lmortise_${part}")
    endif()
endforeach()
string(STRIP "${pc_libraries}" pc_libraries)
set(pc_requires)
if(TARGET mortise_tls)
    list(APPEND pc_requires openssl)
endif()
if(MORTISE_WITH_SQLITE AND TARGET mortise_sqlite)
    list(APPEND pc_requires sqlite3)
endif()
list(JOIN pc_requires ", " pc_requires)
set(pc_flags "")
if(MORTISE_ASIO_SEPARATE_COMPILATION)
    string(APPEND pc_flags " -DBOOST_ASIO_SEPARATE_COMPILATION")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    string(APPEND pc_flags " -Wno-mismatched-new-delete") # coro/CMakeLists.txt says why
endif()
file(RELATIVE_PATH pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
configure_file(cmake/mortise.pc.in "${PROJECT_BINARY_DIR}/mortise.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/mortise.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
