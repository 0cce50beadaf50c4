// SPDX-License-Identifier: BSL-1.0
#include "mortise/store/postgres.hpp"
#include "store/postgres/postgres_server.hpp"
#include "support/postgres_server.hpp"
#include "unit/sql_store/twin_place.hpp"

#include <string>

namespace mortise::test {
namespace {

class postgres_twin_place final : public twin_place {
public:
    postgres_twin_place() {
        static int count = 0;
        config_.schema = "twin" + std::to_string(++count);
    }
    ~postgres_twin_place() override {
        administrator_.run(
            "SET client_min_messages = warning; DROP SCHEMA " + config_.schema + " CASCADE"
        );
    }

    std::unique_ptr<store_detail::sql_server> make_server() const override {
        return std::make_unique<store_detail::postgres_server>(config_);
    }

    void expire(core::session_key key) override {
        administrator_.run(
            "UPDATE " + config_.schema +
            ".session SET deadline = 1 WHERE NOT dead AND key = " + std::to_string(key)
        );
    }

    void extend(std::chrono::microseconds span) override {
        administrator_.run(
            "UPDATE " + config_.schema +
            ".session SET deadline = (date_part('epoch', clock_timestamp()) * 1000000)::bigint + " +
            std::to_string(span.count()) + " WHERE NOT dead AND deadline > 1"
        );
    }

private:
    postgres_store_config config_ = parse_postgres_store_url(shared_postgres().url());
    postgres_administrator administrator_{shared_postgres().url()};
};

}  // namespace

std::unique_ptr<twin_place> make_twin_place() {
    return std::make_unique<postgres_twin_place>();
}

}  // namespace mortise::test
