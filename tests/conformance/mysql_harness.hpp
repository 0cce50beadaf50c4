// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_MYSQL_HARNESS_HPP
#define MORTISE_TESTS_CONFORMANCE_MYSQL_HARNESS_HPP

#include "conformance/proxied_server_harness.hpp"
#include "mortise/store/mysql.hpp"
#include "support/eventually.hpp"
#include "support/mariadb_server.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::test {

/// The store at a real MariaDB server; each harness has a database of its own.
class mysql_harness : public proxied_server_harness {
public:
    mysql_harness()
        : proxied_server_harness(shared_mariadb().port(), &make_mysql_reader),
          database_(shared_mariadb().create_database("store")) {}
    ~mysql_harness() override {
        end_proxy();  // A bell that still waits would keep its tables.
        shared_mariadb().run("DROP DATABASE `" + database_ + "`");
    }

    static store_abilities abilities() {
        mysql_store_config config;
        config.server.database = "none";
        auto all = proxied_server_harness::abilities(*make_mysql_store(std::move(config)));
        all.restarts = true;
        all.simulated_elsewhere = true;  // sql_model_test.cpp
        return all;
    }

    std::unique_ptr<store> make_store() override {
        auto config = parse_mysql_store_url(shared_mariadb().url(database_));
        config.server.port = port();
        return make_detachable(make_mysql_store(std::move(config)), line());
    }

    // A lock's row keeps the mark of its last change only, until the bell has read it.
    bool pushes_merge() const override { return true; }

    // Counts sessions, holders and waiters.
    std::size_t residue() override {
        return std::stoul(shared_mariadb().run(
            "SELECT (SELECT COUNT(*) FROM mortise_session)+(SELECT COUNT(*) FROM mortise_waiter)+"
            "(SELECT COUNT(*) FROM mortise_lock WHERE held=1)",
            database_
        ));
    }

    std::string left() override {
        return shared_mariadb().run(
            "SELECT CONVERT(GROUP_CONCAT(what SEPARATOR '; ') USING utf8mb4) FROM ("
            "SELECT CONCAT('session ',id,' of ',label,', generation ',generation,', dead ',dead) "
            "what FROM mortise_session UNION ALL SELECT CONCAT('waiter for ',name,' of session ',"
            "session) FROM mortise_waiter UNION ALL SELECT CONCAT('lock ',name,' of session ',"
            "session) FROM mortise_lock WHERE held=1) rows_left",
            database_
        );
    }

    // A bell that does not wait yet reads by itself what it was not told.
    void lose_pushes(std::size_t count) override {
        proxied_server_harness::lose_pushes(count);
        const auto all_wait = [this] {
            poll();
            return shared_mariadb().run(
                       "SELECT COUNT(*) FROM mortise_session WHERE bell NOT IN (SELECT id FROM "
                       "information_schema.processlist WHERE state='User lock')",
                       database_
                   ) == "0";
        };
        if (count != 0) {
            EXPECT_TRUE(eventually(all_wait)) << "the bells do not wait";
        }
    }

    // As clients see it: a real restart takes longer than the TTL (mysql_store_fault_test.cpp). Its
    // tables in memory are empty and all connections end; without its memory the server has lost
    // all commits since the first one of the store, as one that does not flush its log may.
    // It is as if the minute had passed for which TTLs are noted in advance.
    void restart(bool with_memory) override {
        std::string text = "BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR 1094 BEGIN END;"
                           "DELETE FROM mortise_run;";
        if (!with_memory)
            text += "UPDATE mortise_ttl SET until=until-60000000 WHERE ttl NOT IN (SELECT ttl FROM "
                    "mortise_session);"
                    "UPDATE mortise_meta SET durable=0;DELETE FROM mortise_watch;"
                    "DELETE FROM mortise_waiter;DELETE FROM mortise_lock;"
                    "DELETE FROM mortise_session;";
        shared_mariadb().run(
            text + "FOR found IN (SELECT id FROM information_schema.processlist WHERE db='" +
                database_ + "' AND id<>CONNECTION_ID()) DO KILL CONNECTION found.id; END FOR; END",
            database_
        );
    }

protected:
    // Nobody is rung if the variable is zero.
    bool is_sure(std::string_view push) const override {
        return push.find('@') == std::string_view::npos;
    }

    // A prepared statement that takes compares no stamp: a second one would take a lock that has
    // become free meanwhile, and nobody would hear of it.
    bool may_come_twice(std::string_view command) const override {
        constexpr std::size_t type_at = 4;  // behind length and number
        constexpr char execute = 0x17;
        return command.size() <= type_at || command[type_at] != execute;
    }

    bool opens(std::string_view command) const override {
        for (const auto each :
             {"ISOLATION LEVEL",
              "CONNECTION_ID() number",
              "SELECT format",
              "CREATE TABLE",
              "INTO mortise_run",
              "KILL CONNECTION",
              "mortise_meta SET last_key",
              "SET bell="}) {
            if (command.find(each) != std::string_view::npos)
                return true;
        }
        return false;
    }

private:
    const std::string database_;
};

}  // namespace mortise::test

#endif
