// SPDX-License-Identifier: BSL-1.0
#include "mortise/detail/secret.hpp"

#include "mortise/error.hpp"

#include <fstream>
#include <sstream>
#include <utility>

namespace mortise::detail {

std::string secret_in_file(const std::filesystem::path& file) {
    std::ifstream opened(file, std::ios::binary);
    std::ostringstream content;
    content << opened.rdbuf();  // Does not throw if the file is a folder.
    std::string secret = std::move(content).str();
    while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r'))
        secret.pop_back();
    if (!opened || secret.empty()) {
        throw error(
            errc::bad_config, file.string(), "name a file that can be read and holds a password"
        );
    }
    // It would never be accepted, and nobody would look for the second line.
    if (secret.find_first_of("\r\n") != std::string::npos)
        throw error(errc::bad_config, file.string(), "leave only the line of the password in it");
    return secret;
}

std::string without_secret(std::string text, std::string_view secret) {
    constexpr std::string_view stars = "***";
    if (secret.empty())
        return text;
    for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) {
        text.replace(at, secret.size(), stars);
        at += stars.size();
    }
    return text;
}

}  // namespace mortise::detail
