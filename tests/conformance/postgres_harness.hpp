// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_POSTGRES_HARNESS_HPP
#define MORTISE_TESTS_CONFORMANCE_POSTGRES_HARNESS_HPP

#include "conformance/detachable_store.hpp"
#include "conformance/store_harness.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/store/postgres.hpp"
#include "support/postgres_message_proxy.hpp"
#include "support/postgres_server.hpp"

#include <boost/asio/io_context.hpp>

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::test {

/// The PostgreSQL store at a real server, in real time; each harness has a schema of its own.
/// Stores that are made after a fault of the network was first asked for reach the server by a
/// proxy.
class postgres_harness : public store_harness {
public:
    postgres_harness() {
        static std::atomic<int> count = 0;
        schema_ = "t" + std::to_string(++count);
    }
    ~postgres_harness() override {
        administrator_.run(
            "SET client_min_messages = warning; DROP SCHEMA IF EXISTS " + schema_ + " CASCADE"
        );
    }

    static store_abilities abilities() {
        store_abilities all;
        all.traits = make_postgres_store(postgres_store_config())->traits();  // needs no server
        all.loses_replies = all.loses_pushes = all.spoils = all.silences = true;
        all.lives_anywhere = true;
        all.sees_death = true;
        all.simulated_elsewhere = true;  // sql_model_test.cpp
        return all;
    }

    std::unique_ptr<store> make_store() override {
        auto config = parse_postgres_store_url(shared_postgres().url());
        config.schema = schema_;
        if (proxy_)
            config.server.servers.front().port = proxy_->port();
        return make_detachable(make_postgres_store(std::move(config)), line_);
    }

    asio::any_io_executor executor() override { return context_.get_executor(); }
    std::shared_ptr<coro::time_source> time() override { return time_; }
    std::chrono::milliseconds ttl() const override { return std::chrono::milliseconds(2'000); }
    std::chrono::milliseconds short_ttl() const override { return std::chrono::milliseconds(600); }

    bool run_until(const std::function<bool()>& done, clock::duration limit) override {
        const auto end = time_->now() + limit;
        context_.restart();
        while (!done() && time_->now() < end)
            context_.run_one_for(std::chrono::milliseconds(20));
        return done();
    }

    // Counts sessions, holders and waiters.
    std::size_t residue() override {
        const auto count = administrator_.run(
            "SELECT (SELECT count(*) FROM " + schema_ + ".session) + (SELECT count(*) FROM " +
            schema_ + ".waiter) + (SELECT count(*) FROM " + schema_ +
            ".lock WHERE holder IS NOT NULL)"
        );
        return std::stoul(count);
    }

    void lose_replies(std::size_t count) override { line_->replies_to_lose = count; }

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
    using kind = postgres_message_proxy::kind;
    using deed = postgres_message_proxy::deed;

    /// Whether a message is one of those that may be spoiled. The messages that open a connection
    /// are the same for all operations, and are not counted here.
    virtual bool counts(kind type, std::string_view bytes) const {
        return type == kind::push || !opens(bytes);
    }

    static bool opens(std::string_view bytes) {
        for (const auto each : {"set_config", "SELECT format", "INTO run", "LISTEN", "CREATE "}) {
            if (bytes.find(each) != std::string_view::npos)
                return true;
        }
        return false;
    }

private:
    void use_proxy() {
        if (!proxy_) {
            proxy_.emplace(context_.get_executor(), shared_postgres().port());
            proxy_->decide([this](kind type, std::string_view bytes) { return judge(type, bytes); }
            );
        }
    }

    deed judge(kind type, std::string_view bytes) {
        if (type == kind::push && pushes_to_lose_ != 0) {
            --pushes_to_lose_;
            return deed::swallow;
        }
        if (spoiled_ || how_ == sim::fate::as_usual || !counts(type, bytes))
            return deed::pass;
        if (pass_before_ != 0) {
            --pass_before_;
            return deed::pass;
        }
        spoiled_ = true;
        if (how_ == sim::fate::late)
            return deed::late;
        if (how_ == sim::fate::repeated)
            return deed::repeat;
        return type == kind::push ? deed::swallow : deed::cut;
    }

    const std::shared_ptr<faulty_line> line_ = std::make_shared<faulty_line>();
    std::string schema_;
    postgres_administrator administrator_{shared_postgres().url()};
    asio::io_context context_;
    std::shared_ptr<coro::time_source> time_ = coro::make_boot_time_source(context_.get_executor());
    std::optional<postgres_message_proxy> proxy_;
    std::size_t pushes_to_lose_ = 0;
    std::size_t pass_before_ = 0;  ///< How many messages are not spoiled first.
    sim::fate how_ = sim::fate::as_usual;
    bool spoiled_ = false;
};

}  // namespace mortise::test

#endif
