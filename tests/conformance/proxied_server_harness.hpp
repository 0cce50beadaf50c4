// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_PROXIED_SERVER_HARNESS_HPP
#define MORTISE_TESTS_CONFORMANCE_PROXIED_SERVER_HARNESS_HPP

#include "conformance/real_time_harness.hpp"
#include "support/message_proxy.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace mortise::test {

/// A store at a real server. Stores that are made after a fault of the network was first
/// asked for reach the server by a proxy.
class proxied_server_harness : public real_time_harness {
public:
    static store_abilities abilities(const store& any) {
        store_abilities all;
        all.traits = any.traits();  // needs no server
        all.loses_replies = all.loses_pushes = all.spoils = all.silences = true;
        all.lives_anywhere = all.sees_death = true;
        return all;
    }

    std::chrono::milliseconds ttl() const override { return std::chrono::seconds(2); }

    void lose_pushes(std::size_t count) override {
        pushes_to_lose_ = count;
        use_proxy();
    }

    void silence(bool silent) override {
        use_proxy();
        proxy_->hold(silent);
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
    using kind = message_proxy::kind;
    using deed = message_proxy::deed;

    proxied_server_harness(std::uint16_t port, message_proxy::make_reader make)
        : server_port_(port), make_reader_(make) {}

    /// Where a new store finds the server.
    std::uint16_t port() const { return proxy_ ? proxy_->port() : server_port_; }

    /// Whether a push tells somebody for sure; others are lost with it, and not counted.
    virtual bool is_sure(std::string_view /*push*/) const { return true; }

    /// Ends the connections of all stores that are still there.
    void end_proxy() { proxy_.reset(); }

    /// Whether a command opens a connection. Those are the same for all operations, and are not
    /// spoiled.
    virtual bool opens(std::string_view command) const = 0;

    /// Whether a command does nothing when it comes a second time. TCP repeats nothing, but clients
    /// do after a lost answer: that is what others get.
    virtual bool may_come_twice(std::string_view /*command*/) const { return true; }

private:
    void use_proxy() {
        if (!proxy_) {
            proxy_.emplace(executor(), server_port_, make_reader_);
            proxy_->decide([this](kind type, std::string_view bytes) { return judge(type, bytes); }
            );
        }
    }

    deed judge(kind type, std::string_view bytes) {
        if (type == kind::push && pushes_to_lose_ != 0) {
            pushes_to_lose_ -= is_sure(bytes) ? 1u : 0u;
            return deed::swallow;
        }
        if (spoiled_ || how_ == sim::fate::as_usual || (type == kind::command && opens(bytes)))
            return deed::pass;
        if (pass_before_ != 0) {
            --pass_before_;
            return deed::pass;
        }
        spoiled_ = true;
        if (how_ == sim::fate::late)
            return deed::late;
        if (how_ == sim::fate::repeated)
            return type == kind::push || may_come_twice(bytes) ? deed::repeat : deed::cut_answer;
        return type == kind::push ? deed::swallow : deed::cut;
    }

    const std::uint16_t server_port_;
    const message_proxy::make_reader make_reader_;
    std::optional<message_proxy> proxy_;
    std::size_t pushes_to_lose_ = 0;
    std::size_t pass_before_ = 0;  ///< How many messages are not spoiled first.
    sim::fate how_ = sim::fate::as_usual;
    bool spoiled_ = false;
};

}  // namespace mortise::test

#endif
