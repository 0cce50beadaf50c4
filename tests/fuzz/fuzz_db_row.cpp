// SPDX-License-Identifier: BSL-1.0
// Values of any kind go through a statement and come back as a row, the same; texts of statements
// are run or refused with a code.
#include "fuzz/target.hpp"
#include "mortise/db/connection.hpp"
#include "mortise/db/row.hpp"
#include "mortise/error.hpp"

#include <sqlite3.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace mortise::fuzz::db_row_target {
namespace {

struct closer {
    void operator()(sqlite3* db) const { ::sqlite3_close(db); }
};

db::column_value some_value(input& in) {
    switch (in.pick(5)) {
    case 0:
        return in.edge<std::int64_t>();
    case 1: {
        const auto bits = in.number<std::uint64_t>();
        double value = 0;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }
    case 2:
        return in.text(300);
    case 3:
        return db::blob(in.text(300));
    default:
        return {};
    }
}

// SQLite has no NaN: it keeps NULL for it.
bool comes_back_as(const db::column_value& given, const db::column_value& found) {
    const auto* const real = std::get_if<double>(&given);
    return real && std::isnan(*real) ? found.index() == 0 : given == found;
}

void check_values(db::connection& on, input& in) {
    std::vector<db::column_value> given;
    std::string sql = "SELECT ";
    for (std::size_t i = 0, count = 1 + in.pick(6); i < count; ++i) {
        given.push_back(some_value(in));
        sql += (i == 0 ? "? AS c" : ", ? AS c") + std::to_string(i);
    }
    auto query = on.query(sql);
    for (const auto& each : given)
        query.bind_value(each);
    MORTISE_ASSERT(query.step());
    const db::row found = query.copy_row();
    MORTISE_ASSERT(found.size() == given.size() && !found.changed());
    for (std::size_t i = 0; i < given.size(); ++i) {
        const std::string name = 'c' + std::to_string(i);
        MORTISE_ASSERT(found.name(i) == name && comes_back_as(given[i], found.value(i)));
        MORTISE_ASSERT(found.is_null(name) == (found.value(name).index() == 0));
    }
    MORTISE_ASSERT(!query.step());
}

// Nothing, or the code of the failure.
error_code run_any(db::connection& on, const std::string& sql) {
    try {
        auto query = on.query(sql);
        for (int rows = 0; rows < 100 && query.step(); ++rows)
            MORTISE_ASSERT(query.copy_row().size() == static_cast<std::size_t>(query.columns()));
    } catch (const error& why) {
        MORTISE_ASSERT(why.code().failed() && !why.remedy().empty());
        return why.code();
    }
    return {};
}

}  // namespace

MORTISE_FUZZ_TARGET(db_row) {
    sqlite3* opened = nullptr;
    const int code = ::sqlite3_open(":memory:", &opened);
    const std::unique_ptr<sqlite3, closer> handle(opened);
    MORTISE_ASSERT(code == SQLITE_OK);
    ::sqlite3_limit(opened, SQLITE_LIMIT_VDBE_OP, 25'000);
    ::sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, 100'000);
    // The library sets no limit to the cost of a statement; here one is needed.
    const auto stop = [](void* left) { return --*static_cast<int*>(left) < 0 ? 1 : 0; };
    int left = 200;
    ::sqlite3_progress_handler(opened, 1'000, stop, &left);
    db::connection on(opened, in.pick(3));
    check_values(on, in);
    const std::string sql = in.rest();
    const error_code first = run_any(on, sql);
    const std::string two = "SELECT 1; " + sql;
    if (sql.find_first_not_of(" \t\r\n;") != std::string::npos)
        MORTISE_ASSERT(run_any(on, two));
    else
        MORTISE_ASSERT(first && !run_any(on, two));
}

}  // namespace mortise::fuzz::db_row_target
