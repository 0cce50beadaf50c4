// SPDX-License-Identifier: BSL-1.0
#include "storm/residue.hpp"

#include "mortise/lock_client.hpp"
#include "mortise/store/sqlite.hpp"
#include "sqlite/side_folder.hpp"
#include "store/sqlite/slot_file.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <sqlite3.h>

#include <cstdint>

namespace mortise::storm {
namespace {

std::int64_t rows_in(sqlite3* db, const std::string& table) {
    sqlite3_stmt* query = nullptr;
    const std::string sql = "SELECT count(*) FROM " + table;
    std::int64_t count = -1;
    if (::sqlite3_prepare_v2(db, sql.c_str(), -1, &query, nullptr) == SQLITE_OK &&
        ::sqlite3_step(query) == SQLITE_ROW)
        count = ::sqlite3_column_int64(query, 0);
    ::sqlite3_finalize(query);
    return count;
}

std::string rows_left(const std::filesystem::path& database) {
    sqlite3* db = nullptr;
    std::string found;
    if (::sqlite3_open_v2(database.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK) {
        found = "the database cannot be opened; ";
    } else {
        for (const std::string table : {"entry", "session"}) {
            if (const auto count = rows_in(db, table); count != 0)
                found += std::to_string(count) + " rows in " + table + "; ";
        }
    }
    ::sqlite3_close(db);
    return found;
}

std::string slots_left(const std::filesystem::path& database) {
    const sqlite_detail::side_folder folder(database.native());
    auto state = store_detail::slot_file::found::none;
    const auto slots = store_detail::slot_file::open(folder, {}, state);
    if (!slots)
        return "the mapped file is no such file; ";
    std::size_t taken = 0;
    for (std::size_t i = 0; i < slots->used(); ++i)
        taken += slots->view(i).key != 0 || !slots->word(i).dead();
    return taken == 0 ? std::string() : std::to_string(taken) + " slots taken; ";
}

std::string sockets_left(const std::filesystem::path& database) {
    std::string found;
    for (const auto& each : std::filesystem::directory_iterator(database.native() + ".mortise")) {
        if (each.is_socket())
            found += "the socket " + each.path().filename().native() + "; ";
    }
    return found;
}

asio::awaitable<std::string> examine(lock_client& locks) {
    std::string bad;
    auto asking = locks.async_examine(asio::deferred);
    const auto findings = co_await std::move(asking);
    for (const store_finding& each : findings) {
        if (each.judgement == store_finding::verdict::broken)
            bad += each.subject + ": " + each.found + "; ";
    }
    co_await locks.async_stop(asio::deferred);
    co_return bad;
}

}  // namespace

std::string residue_in(const std::filesystem::path& database) {
    std::string found = rows_left(database) + slots_left(database) + sockets_left(database);
    sqlite_store_config config;
    config.path = database;
    asio::io_context context(1);
    lock_client client(context.get_executor(), make_sqlite_store(config));
    auto examined = asio::co_spawn(context, examine(client), asio::use_future);
    context.run();
    return found + examined.get();
}

}  // namespace mortise::storm
