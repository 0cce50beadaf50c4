// SPDX-License-Identifier: BSL-1.0
#include "support/sql_store_server.hpp"

namespace mortise::test {

std::int64_t sql_store_server::parties(const std::string& name) const {
    const std::string of_name = " WHERE name = " + bytes(name);
    return count(table("lock") + of_name + " AND " + holder_column() + " IS NOT NULL") +
           count(table("waiter") + of_name);
}

std::int64_t sql_store_server::sessions() const {
    return count(table("session"));
}

std::string sql_store_server::residue() const {
    std::string found;
    const auto note = [&found](std::int64_t number, const char* rows) {
        if (number != 0)
            found += std::to_string(number) + ' ' + rows + "; ";
    };
    note(sessions(), "sessions");
    note(count(table("lock") + " WHERE " + holder_column() + " IS NOT NULL"), "holders");
    note(count(table("lock") + " WHERE queue <> 0"), "locks with a queue");
    note(count(table("waiter")), "rows of waiters and other holders");
    return found;
}

}  // namespace mortise::test
