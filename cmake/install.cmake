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

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/mortise")
install(EXPORT mortise-targets NAMESPACE mortise:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/mortise-config.cmake.in
    "${PROJECT_BINARY_DIR}/mortise-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/mortise-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/mortise-config.cmake"
    "${PROJECT_BINARY_DIR}/mortise-config-version.cmake" DESTINATION "${package_dir}")
if(MORTISE_WITH_KAFKA)
    install(FILES cmake/FindRdKafka.cmake DESTINATION "${package_dir}")
endif()

# For programs that are not built by CMake. The order matters to a linker of static libraries.
set(pc_libraries)
foreach(part IN ITEMS lock coro)
    if(TARGET mortise_${part})
        string(APPEND pc_libraries " -lmortise_${part}")
    endif()
endforeach()
string(STRIP "${pc_libraries}" pc_libraries)
set(pc_requires)
if(MORTISE_WITH_REDIS AND TARGET mortise_redis)
    list(APPEND pc_requires openssl)
endif()
if(MORTISE_WITH_SQLITE AND TARGET mortise_sqlite)
    list(APPEND pc_requires sqlite3)
endif()
list(JOIN pc_requires ", " pc_requires)
set(pc_definitions)
if(MORTISE_ASIO_SEPARATE_COMPILATION)
    set(pc_definitions -DBOOST_ASIO_SEPARATE_COMPILATION)
endif()
file(RELATIVE_PATH pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
configure_file(cmake/mortise.pc.in "${PROJECT_BINARY_DIR}/mortise.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/mortise.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
