// SPDX-License-Identifier: BSL-1.0
// The command's own reading of an SQLite URL agrees with the library's, and any path has a URL.
#include "common/default_store.hpp"
#include "fuzz/refusal.hpp"
#include "fuzz/target.hpp"
#include "url/store_url.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace mortise::fuzz::sqlite_url_target {
namespace {

void check_path(const std::string& path) {
    const std::string url = tool::sqlite_url(path);
    MORTISE_ASSERT(tool::sqlite_path(url) == std::filesystem::path(path));
    if (path.find('\0') == std::string::npos && url.size() <= 8'192)
        MORTISE_ASSERT(store_url::parse(url).path == path);
}

void check_url(const std::string& url) {
    std::optional<store_url> parsed;
    static_cast<void>(refusal_of([&] { parsed = store_url::parse(url); }));
    const auto path = tool::sqlite_path(url);
    if (parsed && parsed->scheme == "sqlite")
        MORTISE_ASSERT(path && path->native() == parsed->path);
    else if (parsed)
        MORTISE_ASSERT(!path);
}

}  // namespace

MORTISE_FUZZ_TARGET(sqlite_url) {
    const std::string text = in.rest();
    check_path(text);
    check_url(text);
    check_url("sqlite:" + text);
}

}  // namespace mortise::fuzz::sqlite_url_target
