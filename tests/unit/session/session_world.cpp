// SPDX-License-Identifier: BSL-1.0
#include "unit/session/session_world.hpp"

#include "mortise/coro/clock.hpp"
#include "mortise/coro/error.hpp"

#include <boost/asio/co_spawn.hpp>

#include <poll.h>

#include <chrono>
#include <stdexcept>

namespace mortise::test {

session_world::session_world(session_kind::server& at)
    : server_(at), database_(session_kind::database(at)) {
    sql("DROP TABLE IF EXISTS account");
    sql(std::string("CREATE TABLE account(id int PRIMARY KEY, cents bigint NOT NULL"
                    " CHECK(cents >= 0))") +
        session_kind::table_options);
    sql("INSERT INTO account VALUES(1, 100), (2, 100), (3, 100)");
}

bool session_world::await_running(const std::string& text) {
    return reaches([&] { return sql(session_kind::running(text)) != "0"; });
}

void session_world::await(asio::awaitable<void> task) {
    bool ended = false;
    std::exception_ptr failure;
    asio::co_spawn(context, std::move(task), [&](std::exception_ptr why) {
        ended = true;
        failure = std::move(why);
    });
    if (!reaches([&] { return ended; }))
        throw std::logic_error("the coroutine does not end");
    if (failure)
        std::rethrow_exception(failure);
}

void session_world::step_while(const std::function<bool()>& wanted) {
    while (wanted()) {
        context.restart();  // another context may give this one work
        if (context.run_one_for(std::chrono::milliseconds(10)) == 0)
            ::poll(nullptr, 0, 1);
    }
}

bool session_world::reaches(const std::function<bool()>& so) {
    const auto end = clock::now() + std::chrono::seconds(60);
    bool reached = false;
    step_while([&] {
        reached = so();
        return !reached && clock::now() < end;
    });
    return reached;
}

void session_world::settle() {
    context.restart();
    context.run_for(std::chrono::seconds(60));
}

session_kind::server& spare_server() {
    static session_kind::server server;
    if (!server.runs())
        server.start();
    return server;
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
