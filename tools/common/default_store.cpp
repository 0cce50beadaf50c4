// SPDX-License-Identifier: BSL-1.0
#include "common/default_store.hpp"

#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "common/printable.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <system_error>

namespace mortise::tool {
namespace {

namespace fs = std::filesystem;

/// Reads a variable that holds an absolute path. Anything else counts as unset, as the XDG
/// specification demands.
fs::path absolute_from(const char* variable) {
    const char* value = std::getenv(variable);
    fs::path path = value == nullptr ? "" : value;
    return path.is_absolute() ? path : fs::path();
}

fs::path state_folder() {
    if (fs::path state = absolute_from("XDG_STATE_HOME"); !state.empty())
        return state / "mortise";
    if (fs::path home = absolute_from("HOME"); !home.empty())
        return home / ".local/state/mortise";
    throw failure(
        exit_code::unavailable,
        "there is no place for the locks of this user",
        "neither XDG_STATE_HOME nor HOME is set",
        "name one with --store or MORTISE_STORE"
    );
}

}  // namespace

std::string sqlite_url(const fs::path& path) {
    std::string url = "sqlite:";
    for (const char c : path.native()) {
        if (c == '%' || c == '?' || c == '#' || c == '&')
            url += '%' + hexadecimal(std::string_view(&c, 1));
        else
            url += c;
    }
    return url;
}

std::optional<fs::path> sqlite_path(std::string_view url) {
    constexpr std::string_view scheme = "sqlite:";
    if (!url.starts_with(scheme))
        return std::nullopt;
    url.remove_prefix(scheme.size());
    url = url.substr(0, url.find_first_of("?#"));
    std::string path;
    for (std::size_t i = 0; i < url.size(); ++i) {
        unsigned byte = 0;
        if (url[i] == '%' && url.size() - i > 2 &&
            std::from_chars(url.data() + i + 1, url.data() + i + 3, byte, 16).ptr ==
                url.data() + i + 3) {
            path += static_cast<char>(byte);
            i += 2;
        } else {
            path += url[i];
        }
    }
    return fs::path(path);
}

std::string default_store_url() {
    return sqlite_url(state_folder() / "locks.db");
}

void make_default_folder() {
    const fs::path folder = state_folder();
    std::error_code failed;
    fs::create_directories(folder.parent_path(), failed);
    if (!failed && ::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        failed.assign(errno, std::generic_category());
    if (failed) {
        throw failure(
            exit_code::unavailable,
            "the folder of the locks cannot be made",
            folder.native() + " (" + failed.message() + ")",
            "name another place with --store or MORTISE_STORE"
        );
    }
}

}  // namespace mortise::tool
