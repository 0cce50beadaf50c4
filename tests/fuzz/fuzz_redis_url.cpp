// SPDX-License-Identifier: BSL-1.0
// A URL of a Redis server is taken, then with sound parts, or refused; and no password is shown,
// wherever it stands.
#include "fuzz/refusal.hpp"
#include "fuzz/target.hpp"
#include "fuzz/vocabulary.hpp"
#include "mortise/store/redis.hpp"
#include "url/store_url.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace mortise::fuzz::redis_url_target {
namespace {

constexpr std::string_view secret = "S3cr3tS3cr3t";

std::string some_url(input& in) {
    static const vocabulary parts(
        "redis:// rediss:// redis+sentinel:// rediss+sentinel:// redis: / // : , @ ? & = % # 0 1 "
        "65535 65536 user host [::1] [ ] main %40 %2F prefix= domain= min_replicas=2 "
        "min_replicas=4294967296 allow_eviction=1 assume_new=true ca_file=/a certificate_file=/b "
        "key_file=/c connect_max_ms=1 longest_ttl_ms=1 password= sentinel_user= unknown=1 a b"
    );
    std::string text;
    for (auto left = in.pick(20); left != 0; --left)
        text += parts.pick(in, 4);
    return text;
}

// Files and variables are for tests by name.
bool names_a_place_of_a_password(const std::string& text) {
    return text.find("_file") != std::string::npos || text.find("_env") != std::string::npos ||
           text.find('%') != std::string::npos;
}

void check_config(const redis_store_config& config) {
    MORTISE_ASSERT(config.min_replicas <= 1'000);
    if (config.sentinels.empty())
        MORTISE_ASSERT(!config.server.host.empty() && config.server.port != 0);
    else
        MORTISE_ASSERT(!config.primary_name.empty());
    for (const auto& each : config.sentinels)
        MORTISE_ASSERT(!each.host.empty() && each.port != 0);
    MORTISE_ASSERT(config.sentinel_password.empty());
}

void check_shown(const std::string& text) {
    const std::string shown = without_passwords(text);
    MORTISE_ASSERT(shown.find(secret) == std::string::npos);
    MORTISE_ASSERT(without_passwords(shown) == shown);
    std::string value;
    try {
        check_config(parse_redis_url(text));
    } catch (const error& why) {
        check_refusal(why);
        value = why.value();
    }
    MORTISE_ASSERT(value.find(secret) == std::string::npos);
}

}  // namespace

MORTISE_FUZZ_TARGET(redis_url) {
    const std::string text = some_url(in);
    if (names_a_place_of_a_password(text))
        return;
    const std::string shown = without_passwords(text);
    MORTISE_ASSERT(without_passwords(shown) == shown);
    const error_code refused = refusal_of([&] { check_config(parse_redis_url(text)); });
    MORTISE_ASSERT(!refused || refused == condition::bad_argument);
    // A login before, and an option behind whatever there is.
    const std::string word = in.text(4);
    if (word.find_first_of("%&") == std::string::npos) {
        check_shown("redis://u:" + word + std::string(secret) + '@' + "host/0");
        check_shown("redis:u:" + std::string(secret) + word + '@' + "host");
        check_shown("redis://h?a=" + word + "&password=" + word + std::string(secret));
    }
}

}  // namespace mortise::fuzz::redis_url_target
