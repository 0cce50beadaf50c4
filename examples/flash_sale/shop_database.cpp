// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/shop_database.hpp"

#include "mortise/fence/sqlite.hpp"

#include <sqlite3.h>

#include <stdexcept>
#include <string>

namespace flash_sale {
namespace {

constexpr const char* resource = "sku:42";  // what the fence protects

}  // namespace

void shop_database::closer::operator()(sqlite3* db) const noexcept {
    ::sqlite3_close(db);
}

shop_database::shop_database(const std::filesystem::path& file) {
    sqlite3* db = nullptr;
    const int code = ::sqlite3_open(file.c_str(), &db);
    db_.reset(db);
    if (code != SQLITE_OK)
        throw std::runtime_error("the shop cannot be opened: " + file.native());
    ::sqlite3_busy_timeout(db, 30'000);
    execute("pragma synchronous = normal");
}

shop_database shop_database::create(const std::filesystem::path& file, int stock) {
    shop_database shop(file);
    shop.execute("pragma journal_mode = wal");
    shop.execute("create table item (stock integer not null)");
    shop.execute("create table orders (id integer primary key, buyer integer not null)");
    shop.execute(("insert into item values (" + std::to_string(stock) + ")").c_str());
    return shop;
}

int shop_database::read_stock() {
    return number_of("select stock from item");
}

int shop_database::count_orders() {
    return number_of("select count(*) from orders");
}

void shop_database::write_sale(int stock_left, int buyer) {
    execute("begin immediate");
    write_rows(stock_left, buyer);
    execute("commit");
}

mortise::error_code shop_database::raise_fence(const mortise::fencing_token& token) {
    return mortise::sqlite_fence::raise(db_.get(), resource, token);
}

mortise::error_code
shop_database::write_sale_fenced(int stock_left, int buyer, const mortise::fencing_token& token) {
    execute("begin immediate");
    if (const auto refused = mortise::sqlite_fence::admit(db_.get(), resource, token)) {
        execute("rollback");
        return refused;
    }
    write_rows(stock_left, buyer);
    execute("commit");
    return {};
}

void shop_database::write_rows(int stock_left, int buyer) {
    execute(("update item set stock = " + std::to_string(stock_left)).c_str());
    execute(("insert into orders (buyer) values (" + std::to_string(buyer) + ")").c_str());
}

void shop_database::execute(const char* sql) {
    if (::sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
        throw std::runtime_error(std::string("the shop fails: ") + ::sqlite3_errmsg(db_.get()));
}

int shop_database::number_of(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    int number = 0;
    int code = ::sqlite3_prepare_v2(db_.get(), sql, -1, &statement, nullptr);
    if (code == SQLITE_OK) {
        code = ::sqlite3_step(statement);
        number = ::sqlite3_column_int(statement, 0);
    }
    ::sqlite3_finalize(statement);
    if (code != SQLITE_ROW)
        throw std::runtime_error(std::string("the shop fails: ") + ::sqlite3_errmsg(db_.get()));
    return number;
}

}  // namespace flash_sale
