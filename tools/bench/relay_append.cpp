// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_files.hpp"
#include "bench/relay_phases.hpp"
#include "bench/run_control.hpp"
#include "common/await_main.hpp"
#include "common/exit_code.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/outbox/append.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <utility>

namespace mortise::tool {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds turn{100};
constexpr unsigned turns_per_second = 5;  // of each kind

/// A small booking, with or without a message that announces it.
class booking {
public:
    booking(const bench_records* message, std::uint64_t number)
        : message_(message), number_(number) {}
    void operator()(db::connection& on) const {
        on.run("UPDATE account SET cents = cents + 1 WHERE id = ?", number_ % 1'000);
        on.run("INSERT INTO entry(account, cents) VALUES(?, 1)", number_ % 1'000);
        if (message_ == nullptr)
            return;
        outbox::append(
            on,
            outbox::message(
                message_->topic(), bench_records::key(number_), message_->payload(number_)
            )
        );
    }

private:
    const bench_records* message_;
    std::uint64_t number_;
};

void make_tables(db::connection& on) {
    on.run("CREATE TABLE account(id INTEGER PRIMARY KEY, cents INTEGER NOT NULL)");
    on.run("CREATE TABLE entry(id INTEGER PRIMARY KEY, account INTEGER NOT NULL, cents INTEGER)");
    for (int i = 0; i < 1'000; ++i)
        on.run("INSERT INTO account VALUES(?, 0)", i);
}

struct counted {
    std::uint64_t transactions = 0;
    clock::duration took{};

    double us_each() const {
        return std::chrono::duration<double, std::micro>(took).count() /
               static_cast<double>(transactions);
    }
};

asio::awaitable<void>
book(db::sqlite& shop, const bench_records* message, db::durability how, counted& sum) {
    const auto begin = clock::now();
    clock::duration passed{};
    do {
        interruption::check();
        auto booking_it = shop.async_run(booking(message, sum.transactions), how);
        co_await std::move(booking_it);
        ++sum.transactions;
        passed = clock::now() - begin;
    } while (passed < turn);
    sum.took += passed;
}

asio::awaitable<append_cost>
compare(db::sqlite& shop, const bench_records& message, db::durability how, unsigned seconds) {
    counted without;
    counted with;
    counted ignored;
    co_await book(shop, &message, how, ignored);  // creates the tables
    for (unsigned i = 0; i < turns_per_second * seconds; ++i) {
        co_await book(shop, nullptr, how, without);
        co_await book(shop, &message, how, with);
    }
    append_cost found;
    found.us = with.us_each() - without.us_each();
    found.ratio = with.us_each() / without.us_each();
    co_return found;
}

}  // namespace

append_costs measure_append(
    const std::filesystem::path& folder, const bench_records& message, unsigned seconds
) {
    const passing_file file(bench_file(folder, "append"));
    append_costs found;
    asio::io_context context(1);
    db::sqlite_config config;
    config.path = file.path();
    db::sqlite shop(context.get_executor(), config);
    const auto run = [&]() -> asio::awaitable<int> {
        co_await shop.async_run(&make_tables);
        found.lazy = co_await compare(shop, message, db::durability::lazy, seconds);
        found.forced = co_await compare(shop, message, db::durability::force, seconds);
        co_await shop.async_stop();
        co_return exit_code::success;
    };
    await_main(context, run());
    return found;
}

}  // namespace mortise::tool
