// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_REDIS_BUCKETS_HARNESS_HPP
#define MORTISE_TESTS_CONFORMANCE_REDIS_BUCKETS_HARNESS_HPP

#include "conformance/joined_store.hpp"
#include "conformance/real_time_harness.hpp"
#include "mortise/store/redis.hpp"
#include "store/redis/lock_buckets.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_parties.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test {

/// The Redis store that is spread over a real cluster of three primaries; each harness has keys of
/// its own there.
class redis_buckets_harness : public real_time_harness {
public:
    redis_buckets_harness() {
        static std::atomic<int> count = 0;
        prefix_ = "b" + std::to_string(++count) + ":";
    }

    static store_abilities abilities() {
        redis_store_config config;
        config.cluster.emplace_back();
        store_abilities all;
        all.traits = make_redis_store(config)->traits();  // needs no server
        all.loses_replies = all.lives_anywhere = true;
        all.simulated_elsewhere = true;  // The scripts of a bucket: redis_model_test.cpp.
        return all;
    }

    // A session is one at each bucket.
    std::chrono::milliseconds ttl() const override { return std::chrono::seconds(2); }

    std::unique_ptr<store> make_store() override {
        return make_detachable(make_redis_store(config()), line());
    }
    std::vector<std::string> names_at_servers() const override {
        const store_detail::lock_buckets all("", buckets);
        std::vector<std::string> names;
        for (proof_number number = 0; number < buckets; ++number) {
            names.push_back("presence");
            while (all.of(names.back()) != number)
                names.back() += '!';
        }
        return names;
    }

    // Counts all keys except those that a store has for itself, and sessions, at all nodes.
    std::size_t residue() override {
        std::size_t count = 0;
        for (std::size_t i = 0; i < shared_cluster().size(); ++i) {
            auto node = shared_cluster().node(i).connect();
            for (const auto& key : node.command({"KEYS", "{" + prefix_ + "*"}).texts()) {
                const auto name = key.substr(key.find('}') + 1);
                if (name == "d")
                    count += static_cast<std::size_t>(node.command({"ZCARD", key}).number);
                if (name == "n")
                    count += static_cast<std::size_t>(node.command({"HLEN", key}).number);
                if (!is_lasting("{mortise:}" + name))
                    ++count;
            }
        }
        return count;
    }

    std::string left() override {
        std::string names = "keys:";
        for (std::size_t i = 0; i < shared_cluster().size(); ++i) {
            auto node = shared_cluster().node(i).connect();
            for (const auto& key : node.command({"KEYS", "{" + prefix_ + "*"}).texts())
                names += ' ' + key;
        }
        return names;
    }

    clock::duration aftermath() const override { return std::chrono::milliseconds(5); }

protected:
    static constexpr unsigned buckets = 5;

    redis_store_config config() const {
        redis_store_config all;
        all.cluster.emplace_back("127.0.0.1", shared_cluster().node(0).port());
        all.prefix = prefix_;
        all.buckets = buckets;
        all.assume_new = true;
        return all;
    }

private:
    std::string prefix_;
};

/// The same for suites at the port, which know one session.
class joined_buckets_harness final : public redis_buckets_harness {
public:
    std::unique_ptr<store> make_store() override {
        return make_detachable(make_joined(make_redis_store(config()), buckets), line());
    }
    bool pushes_are_hints() const override { return true; }
};

}  // namespace mortise::test

#endif
