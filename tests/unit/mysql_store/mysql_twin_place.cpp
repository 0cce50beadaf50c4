// SPDX-License-Identifier: BSL-1.0
#include "mortise/store/mysql.hpp"
#include "store/mysql/mysql_server.hpp"
#include "support/mariadb_server.hpp"
#include "unit/sql_store/twin_place.hpp"

#include <string>

namespace mortise::test {
namespace {

class mysql_twin_place final : public twin_place {
public:
    ~mysql_twin_place() override { shared_mariadb().run("DROP DATABASE `" + database_ + "`"); }

    std::unique_ptr<store_detail::sql_server> make_server() const override {
        return std::make_unique<store_detail::mysql_server>(
            parse_mysql_store_url(shared_mariadb().url(database_))
        );
    }

    void expire(core::session_key key) override {
        shared_mariadb().run(
            "UPDATE mortise_session SET deadline=1 WHERE dead=0 AND id=" + std::to_string(key),
            database_
        );
    }

    void extend(std::chrono::microseconds span) override {
        shared_mariadb().run(
            "UPDATE mortise_session SET deadline=CAST(UNIX_TIMESTAMP(SYSDATE(6))*1000000 AS "
            "SIGNED)+" +
                std::to_string(span.count()) + " WHERE dead=0 AND deadline>1",
            database_
        );
    }

private:
    const std::string database_ = shared_mariadb().create_database("twin");
};

}  // namespace

std::unique_ptr<twin_place> make_twin_place() {
    return std::make_unique<mysql_twin_place>();
}

}  // namespace mortise::test
