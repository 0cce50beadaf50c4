// SPDX-License-Identifier: BSL-1.0
// A program with locks and a session at a database server, which is not there.
#ifdef CONSUMER_AT_MYSQL
#include <mortise/db/mysql.hpp>
#else
#include <mortise/db/postgres.hpp>
#endif
#include <mortise/error.hpp>
#include <mortise/open_store.hpp>

#include <boost/asio/io_context.hpp>

#include <cstdio>
#include <exception>

namespace {

#ifdef CONSUMER_AT_MYSQL
using session = mortise::db::mysql;
constexpr const char* url = "mysql://somebody@127.0.0.1:1/consumer";
session open(boost::asio::io_context& context) {
    return session(context.get_executor(), mortise::db::parse_mysql_url(url));
}
#else
using session = mortise::db::postgres;
constexpr const char* url = "postgresql://somebody@127.0.0.1:1/consumer";
session open(boost::asio::io_context& context) {
    return session(context.get_executor(), mortise::db::parse_postgres_url(url));
}
#endif

mortise::error_code code_of(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const mortise::error& refusal) {
        std::puts(refusal.what());
        return refusal.code();
    }
}

}  // namespace

int main() {
    mortise::open_store(url);
    boost::asio::io_context context;
    auto shop = open(context);
    bool passed = false;
    shop.async_query(
        mortise::db::bound_sql("SELECT 1"),
        [&](const std::exception_ptr& failure, const mortise::db::query_result&) {
            passed = failure && code_of(failure) == mortise::errc::store_unavailable;
        }
    );
    context.run();
    return passed ? 0 : 1;
}
