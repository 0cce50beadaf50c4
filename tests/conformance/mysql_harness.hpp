// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_MYSQL_HARNESS_HPP
#define MORTISE_TESTS_CONFORMANCE_MYSQL_HARNESS_HPP

#include "conformance/detachable_store.hpp"
#include "conformance/store_harness.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/store/mysql.hpp"
#include "support/mariadb_server.hpp"

#include <boost/asio/io_context.hpp>

#include <string>
#include <utility>

namespace mortise::test {

/// The store at a real MariaDB server, in real time; each harness has a database of its own.
class mysql_harness : public store_harness {
public:
    mysql_harness() : database_(shared_mariadb().create_database("store")) {}
    ~mysql_harness() override { shared_mariadb().run("DROP DATABASE `" + database_ + "`"); }

    static store_abilities abilities() {
        store_abilities all;
        mysql_store_config config;
        config.server.database = "none";
        all.traits = make_mysql_store(std::move(config))->traits();  // needs no server
        all.loses_replies = true;
        all.lives_anywhere = true;
        all.sees_death = true;
        all.simulated_elsewhere = true;  // sql_model_test.cpp
        return all;
    }

    std::unique_ptr<store> make_store() override {
        auto config = parse_mysql_store_url(shared_mariadb().url(database_));
        return make_detachable(make_mysql_store(std::move(config)), line_);
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
        return std::stoul(shared_mariadb().run(
            "SELECT (SELECT COUNT(*) FROM mortise_session)+(SELECT COUNT(*) FROM mortise_waiter)+"
            "(SELECT COUNT(*) FROM mortise_lock WHERE held=1)",
            database_
        ));
    }

    void lose_replies(std::size_t count) override { line_->replies_to_lose = count; }

protected:
    const std::string& database() const { return database_; }

private:
    const std::shared_ptr<faulty_line> line_ = std::make_shared<faulty_line>();
    const std::string database_;
    asio::io_context context_;
    std::shared_ptr<coro::time_source> time_ = coro::make_boot_time_source(context_.get_executor());
};

}  // namespace mortise::test

#endif
