// SPDX-License-Identifier: BSL-1.0
// A store URL is taken or refused, says the same again, and any path can be written as one.
#include "fuzz/refusal.hpp"
#include "fuzz/target.hpp"
#include "mortise/open_store.hpp"
#include "url/store_url.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace mortise::fuzz::store_url_target {
namespace {

std::optional<store_url> parsed(const std::string& text) {
    std::optional<store_url> url;
    const error_code refused = refusal_of([&] { url = store_url::parse(text); });
    MORTISE_ASSERT(url ? !refused : refused == errc::bad_url);
    return url;
}

std::string all_escaped(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string text;
    for (const char each : bytes) {
        const auto value = static_cast<unsigned char>(each);
        text += {'%', digits[value >> 4], digits[value & 15]};
    }
    return text;
}

void check_parts(const store_url& url, const std::string& text) {
    MORTISE_ASSERT(url.text == without_passwords(text) && !url.scheme.empty());
    MORTISE_ASSERT(url.scheme.find(':') == std::string::npos);
    MORTISE_ASSERT(url.path.find('\0') == std::string::npos);
    if (url.path.size() > 2'000)
        return;
    const auto again = parsed(url.scheme + ':' + all_escaped(url.path));
    MORTISE_ASSERT(again && again->path == url.path && again->scheme == url.scheme);
}

void check_option(const store_url& url, std::string_view name) {
    const std::string value = url.option(name);
    std::optional<std::size_t> number;
    const auto no_number = refusal_of([&] { number = url.number(name, 7); });
    MORTISE_ASSERT(number ? !no_number : no_number == errc::bad_url);
    if (value.empty())
        MORTISE_ASSERT(!number || *number == 7);
    const auto no_flag = refusal_of([&] { MORTISE_ASSERT(!url.flag(name) || !value.empty()); });
    MORTISE_ASSERT(!no_flag || no_flag == errc::bad_url);
}

void check_opening(const std::string& text, const std::optional<store_url>& url) {
    std::string scheme;
    const error_code refused = refusal_of([&] { scheme = open_store(text)->traits().scheme; });
    if (!url) {
        MORTISE_ASSERT(refused == errc::bad_url);
        return;
    }
    MORTISE_ASSERT(refused ? refused == condition::bad_argument : scheme == url->scheme);
}

}  // namespace

MORTISE_FUZZ_TARGET(store_url) {
    const std::string text = in.rest();
    const auto url = parsed(text);
    if (url) {
        check_parts(*url, text);
        for (const char* name : {"domain", "checkpoint_bytes", "allow_network_file_system", ""})
            check_option(*url, name);
    }
    check_opening(text, url);
}

}  // namespace mortise::fuzz::store_url_target
