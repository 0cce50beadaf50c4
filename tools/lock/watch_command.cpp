// SPDX-License-Identifier: BSL-1.0
#include "lock/watch_command.hpp"

#include "common/await_main.hpp"
#include "common/failure.hpp"
#include "common/printable.hpp"
#include "common/signal_source.hpp"
#include "common/with_store.hpp"
#include "lock/read_locks.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/task_scope.hpp"
#include "mortise/open_store.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/this_coro.hpp>

#include <unistd.h>

#include <csignal>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <utility>

namespace mortise::tool {
namespace {

constexpr std::chrono::seconds tick{1};

/// Updates the ages on a screen between two looks.
asio::awaitable<void> grow_older(watch_scene scene, const clock::time_point& looked) {
    for (;;) {
        co_await coro::sleep_for(scene.time, tick);
        scene.output.age(scene.time.now() - looked);
    }
}

asio::awaitable<void> look_again_and_again(
    watch_scene scene,
    const global_settings& global,
    const watch_settings& settings,
    clock::time_point& looked
) {
    for (;;) {
        scene.feed.begin(scene.locks);
        std::vector<lock_view> seen = co_await read_locks(
            scene.locks, global.shown_store(), settings.prefix, queue_shown_max
        );
        looked = scene.time.now();
        scene.output.show(std::move(seen));
        try {
            co_await scene.feed.next();
        } catch (const boost::system::system_error& e) {
            if (e.code() == asio::error::operation_aborted)
                throw;
            throw failure::of_code(e.code(), global.shown_store(), scene.locks.explain());
        }
        co_await coro::sleep_until(scene.time, looked + look_gap);
    }
}

std::unique_ptr<watch_output> output_for(const global_settings& global, const std::string& prefix) {
    if (global.json || !live_screen::possible(STDOUT_FILENO))
        return std::make_unique<watch_lines>(std::cout, global.json);
    std::string title = "mortise watch, " + printable(global.shown_store());
    if (!prefix.empty())
        title += ", locks that begin with " + printable(prefix);
    return std::make_unique<watch_screen>(STDOUT_FILENO, std::move(title));
}

}  // namespace

asio::awaitable<int>
follow_locks(watch_scene scene, const global_settings& global, const watch_settings& settings) {
    coro::task_scope scope(co_await asio::this_coro::executor);
    clock::time_point looked = scene.time.now();
    std::exception_ptr failed;
    scope.spawn(grow_older(scene, looked));
    try {
        co_await look_again_and_again(scene, global, settings, looked);
    } catch (...) {
        failed = std::current_exception();
    }
    co_await asio::this_coro::throw_if_cancelled(false);  // the task must be joined even then
    scope.cancel();
    co_await scope.join();
    std::rethrow_exception(failed);
}

int watch_locks(const global_settings& global, const watch_settings& settings) {
    asio::io_context context(1);
    signal_source signals(context.get_executor());  // before the client, which starts threads
    change_feed feed(context.get_executor());
    client_config config;
    config.label = "watch";
    config.observer = &feed;
    config.time = coro::make_boot_time_source(context.get_executor());
    const auto time = config.time;
    lock_client locks(context.get_executor(), open_store(global.store), std::move(config));
    // Leave the screen before a failure is printed.
    const auto output = output_for(global, settings.prefix);
    const watch_scene scene{locks, feed, *time, *output};
    const std::function<void(int)> on_other = [&](int signal) {
        if (signal == SIGWINCH)
            feed.poke();
    };
    return await_main(context, work_and_stop(locks, [&](lock_client&) {
                          return until_signalled(
                              signals, follow_locks(scene, global, settings), on_other
                          );
                      }));
}

struct change_feed::state {
    explicit state(const asio::any_io_executor& executor) : woken(executor) {}

    coro::event woken;
    error_code failed;
    bool waiting = false;  ///< The client has an `async_watch` under way.
};

change_feed::change_feed(asio::any_io_executor executor)
    : state_(std::make_shared<state>(std::move(executor))) {}

change_feed::~change_feed() = default;

void change_feed::begin(lock_client& locks) {
    state_->woken.reset();
    if (std::exchange(state_->waiting, true))
        return;
    locks.async_watch(asio::bind_executor(
        state_->woken.get_executor(),
        [kept = state_](const error_code& code) {
            kept->waiting = false;
            kept->failed = code;
            kept->woken.set();
        }
    ));
}

asio::awaitable<void> change_feed::next() {
    co_await state_->woken.async_wait();
    if (state_->failed)
        throw boost::system::system_error(state_->failed);
}

void change_feed::poke() {
    state_->woken.set();
}

void change_feed::on_event(const lock_event& event) noexcept {
    if (event.type == lock_event::kind::session_opened)
        state_->woken.set();
}

}  // namespace mortise::tool
