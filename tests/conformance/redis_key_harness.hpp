// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_REDIS_KEY_HARNESS_HPP
#define MORTISE_TESTS_CONFORMANCE_REDIS_KEY_HARNESS_HPP

#include "conformance/redis_harness.hpp"

namespace mortise::test {

/// The single-key form of the Redis store, with tokens, at a real server.
class redis_key_harness final : public redis_harness {
public:
    // Its connections go through no proxy, so that no message is lost or spoilt.
    static store_abilities abilities() {
        store_abilities all;
        all.traits = make_redis_store(single_key_config())->traits();
        all.loses_replies = all.lives_anywhere = true;
        return all;
    }

    std::unique_ptr<store> make_store() override {
        auto config = single_key_config();
        config.server.port = shared_redis().port();
        config.prefix = prefix();
        return make_detachable(make_redis_store(std::move(config)), line());
    }

    // Leaves out the key that counts tokens, which stays whatever was locked before.
    std::size_t residue() override {
        auto server = shared_redis().connect();
        std::size_t count = 0;
        for (const auto& key : server.command({"KEYS", prefix() + "*"}).items)
            count += key.text != prefix() + "mortise:tokens";
        return count;
    }

private:
    static redis_store_config single_key_config() {
        redis_store_config config;
        config.form = redis_form::single_key;
        config.tokens = true;
        return config;
    }
};

}  // namespace mortise::test

#endif
