// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_REDIS_HARNESS_HPP
#define MORTISE_TESTS_CONFORMANCE_REDIS_HARNESS_HPP

#include "conformance/real_time_harness.hpp"
#include "mortise/store/redis.hpp"
#include "support/redis_parties.hpp"
#include "support/redis_proxy.hpp"
#include "support/redis_server.hpp"

#include <atomic>
#include <optional>
#include <string>
#include <utility>

namespace mortise::test {

/// The Redis store at a real server; each harness has keys of its own. Stores that are made after a
/// fault of the network was first asked for reach the server through a proxy.
class redis_harness : public real_time_harness {
public:
    redis_harness() {
        static std::atomic<int> count = 0;
        prefix_ = "t" + std::to_string(++count) + ":";
    }

    static store_abilities abilities() {
        store_abilities all;
        all.traits = make_redis_store(redis_store_config())->traits();  // needs no server
        all.loses_replies = all.loses_pushes = all.spoils = all.silences = true;
        all.lives_anywhere = true;
        all.simulated_elsewhere = true;  // redis_model_test.cpp
        return all;
    }

    std::unique_ptr<store> make_store() override {
        redis_store_config config;
        config.server.port = proxy_ ? proxy_->port() : shared_redis().port();
        config.prefix = prefix_;
        config.assume_new = true;
        return make_detachable(make_redis_store(std::move(config)), line());
    }

    // Counts all keys except those that a store has for itself.
    std::size_t residue() override {
        auto server = shared_redis().connect();
        std::size_t count = 0;
        for (const auto& key : server.command({"KEYS", "{" + prefix_ + "}*"}).texts())
            count += is_lasting(key, prefix_) ? 0u : 1u;
        // Sessions share their keys.
        const auto sessions = server.command({"ZCARD", "{" + prefix_ + "}d"}).number;
        const auto facts = server.command({"HLEN", "{" + prefix_ + "}n"}).number;
        return count + static_cast<std::size_t>(sessions + facts);
    }

    std::string left() override {
        std::string names = "keys:";
        for (const auto& key :
             shared_redis().connect().command({"KEYS", "{" + prefix_ + "}*"}).texts())
            names += ' ' + key;
        return names;
    }

    void lose_pushes(std::size_t count) override {
        pushes_to_lose_ = count;
        use_proxy();
    }

    void silence(bool silent) override {
        use_proxy();
        for (const auto direction : {redis_proxy::way::to_server, redis_proxy::way::to_client}) {
            if (silent)
                proxy_->hold(direction);
            else
                proxy_->let_through(direction);
        }
    }

    void spoil(std::size_t nth, sim::fate how) override {
        spoiled_ = false;
        how_ = how;
        pass_before_ = nth;
        use_proxy();
    }
    bool spoiled() const override { return spoiled_; }
    clock::duration aftermath() const override { return std::chrono::milliseconds(5); }

protected:
    using kind = proxied_message::kind;

    /// Whether `message` is one of those that may be spoiled. The messages that open a connection
    /// are the same for all operations, and are not counted here.
    virtual bool counts(const proxied_message& message) const {
        return message.name == "EVALSHA" || message.name == "EVAL" || is_push(message);
    }

    static bool is_push(const proxied_message& message) {
        return message.type == kind::push && message.name == "message";
    }

    const std::string& prefix() const { return prefix_; }

private:
    using deed = proxy_deed::kind;

    void use_proxy() {
        if (!proxy_) {
            proxy_.emplace(executor(), shared_redis().port(), time());
            proxy_->decide([this](const proxied_message& message) { return judge(message); });
        }
    }

    proxy_deed judge(const proxied_message& message) {
        if (is_push(message) && pushes_to_lose_ != 0) {
            --pushes_to_lose_;
            return proxy_deed::of(deed::swallow);
        }
        return spoiled_ ? proxy_deed() : judge_nth(message);
    }

    // TCP loses nothing but the rest of a connection, and repeats only what was sent twice. Late is
    // a little late: silence that is too long for a connection is for client_silence_test.
    proxy_deed judge_nth(const proxied_message& message) {
        const bool repeats = how_ == sim::fate::repeated;
        if (how_ == sim::fate::as_usual || !counts(message) ||
            (repeats && message.type != kind::command))
            return {};
        if (pass_before_ != 0) {
            --pass_before_;
            return {};
        }
        spoiled_ = true;
        if (how_ == sim::fate::late)
            return proxy_deed::late(std::chrono::milliseconds(2));
        if (repeats)
            return proxy_deed::of(deed::repeat);
        return proxy_deed::of(is_push(message) ? deed::swallow : deed::cut);
    }

    std::string prefix_;
    std::optional<redis_proxy> proxy_;
    std::size_t pushes_to_lose_ = 0;
    std::size_t pass_before_ = 0;  ///< How many messages are not spoiled first.
    sim::fate how_ = sim::fate::as_usual;
    bool spoiled_ = false;
};

}  // namespace mortise::test

#endif
