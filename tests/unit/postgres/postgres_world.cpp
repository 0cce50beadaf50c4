// SPDX-License-Identifier: BSL-1.0
#include "unit/postgres/postgres_world.hpp"

#include "mortise/coro/clock.hpp"
#include "mortise/coro/error.hpp"
#include "support/eventually.hpp"

#include <boost/asio/co_spawn.hpp>

#include <chrono>
#include <stdexcept>

namespace mortise::test {

postgres_world::postgres_world(postgres_server& at) : server_(at) {
    sql("DROP TABLE IF EXISTS account; CREATE TABLE account(id int PRIMARY KEY,"
        " cents bigint NOT NULL CHECK(cents >= 0)); INSERT INTO account VALUES(1, 100), (2, 100),"
        " (3, 100)");
}

int postgres_world::connections() const {
    return std::stoi(sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'mortise'")
    );
}

bool postgres_world::await_running(const std::string& text) const {
    return eventually([&] {
        return sql("SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND"
                   " wait_event_type IN ('Lock', 'Timeout') AND query LIKE '%" +
                   text + "%' AND pid <> pg_backend_pid()") != "0";
    });
}

void postgres_world::await(asio::awaitable<void> task) {
    bool ended = false;
    std::exception_ptr failure;
    asio::co_spawn(context, std::move(task), [&](std::exception_ptr why) {
        ended = true;
        failure = std::move(why);
    });
    context.restart();
    const auto end = clock::now() + std::chrono::seconds(60);
    while (!ended && clock::now() < end)
        context.run_one_for(std::chrono::milliseconds(100));
    if (!ended)
        throw std::logic_error("the coroutine does not end");
    if (failure)
        std::rethrow_exception(failure);
}

void postgres_world::step_while(const std::function<bool()>& wanted) {
    context.restart();
    while (wanted())
        context.run_one_for(std::chrono::milliseconds(10));
}

void postgres_world::settle() {
    context.restart();
    context.run_for(std::chrono::seconds(60));
}

error_code code_of(const std::exception_ptr& failure) {
    if (!failure)
        return {};
    try {
        std::rethrow_exception(failure);
    } catch (const boost::system::system_error& e) {
        return e.code();
    } catch (...) {
        return coro::errc::work_threw;
    }
}

std::string text_of(const std::exception_ptr& failure) {
    if (!failure)
        return {};
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& e) {
        return e.what();
    }
}

}  // namespace mortise::test
