// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_POSTGRES_HARNESS_HPP
#define MORTISE_TESTS_CONFORMANCE_POSTGRES_HARNESS_HPP

#include "conformance/proxied_server_harness.hpp"
#include "mortise/store/postgres.hpp"
#include "support/postgres_server.hpp"

#include <atomic>
#include <string>
#include <utility>

namespace mortise::test {

/// The PostgreSQL store at a real server; each harness has a schema of its own.
class postgres_harness : public proxied_server_harness {
public:
    postgres_harness() : proxied_server_harness(shared_postgres().port(), &make_postgres_reader) {
        static std::atomic<int> count = 0;
        schema_ = "t" + std::to_string(++count);
    }
    ~postgres_harness() override {
        administrator_.run(
            "SET client_min_messages = warning; DROP SCHEMA IF EXISTS " + schema_ + " CASCADE"
        );
    }

    static store_abilities abilities() {
        auto all = proxied_server_harness::abilities(*make_postgres_store(postgres_store_config()));
        all.simulated_elsewhere = true;  // sql_model_test.cpp
        return all;
    }

    std::unique_ptr<store> make_store() override {
        auto config = parse_postgres_store_url(shared_postgres().url());
        config.schema = schema_;
        config.server.servers.front().port = port();
        return make_detachable(make_postgres_store(std::move(config)), line());
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

    std::string left() override {
        std::string rows;
        for (const auto* const table : {"session", "waiter", "lock"})
            rows += std::string(rows.empty() ? "" : " UNION ALL ") + "SELECT '" + table +
                    " ' || row_to_json(r) AS line FROM " + schema_ + "." + table + " r";
        return administrator_.run("SELECT string_agg(line, '; ') FROM (" + rows + ") AS lines");
    }

protected:
    bool opens(std::string_view command) const override {
        for (const auto each : {"set_config", "SELECT format", "INTO run", "LISTEN", "CREATE "}) {
            if (command.find(each) != std::string_view::npos)
                return true;
        }
        return false;
    }

private:
    std::string schema_;
    postgres_administrator administrator_{shared_postgres().url()};
};

}  // namespace mortise::test

#endif
