// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_OUTBOX_OUTBOX_WORLD_HPP
#define MORTISE_TESTS_UNIT_OUTBOX_OUTBOX_WORLD_HPP

#include "mortise/db/sqlite.hpp"
#include "mortise/outbox/append.hpp"
#include "mortise/outbox/operate.hpp"
#include "mortise/outbox/relay.hpp"
#include "support/eventually.hpp"
#include "support/scratch_folder.hpp"
#include "unit/outbox/fake_cluster.hpp"
#include "unit/outbox/outbox_site.hpp"

#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {

/// A database with a message table, a session with it, and relays.
class outbox_world : public testing::Test {
protected:
    outbox_world() { open(); }
    ~outbox_world() override { session_.reset(); }

    void open() {
        db::sqlite_config config;
        config.path = database();
        session_.emplace(site_.executor(), std::move(config));
    }
    std::filesystem::path database() const { return folder_.path() / "shop.db"; }

    outbox::relay_config config() {
        outbox::relay_config made;
        made.database = database();
        made.sink = cluster_.factory();
        made.retry_first = std::chrono::milliseconds(1);
        made.retry_max = std::chrono::milliseconds(10);
        made.jitter_seed = 1;
        made.observer = [this](const outbox::relay_event& what) {
            const std::lock_guard hold(events_mutex_);
            events_.push_back(what);
        };
        return made;
    }

    template <class T>
    static T wait_for(std::future<T> what) {
        EXPECT_EQ(what.wait_for(std::chrono::seconds(20)), std::future_status::ready);
        return what.get();
    }
    template <class Work>
    auto run(Work work, db::durability how = db::durability::force) {
        return wait_for(session_->async_run(std::move(work), how, asio::use_future));
    }
    std::string append(outbox::message what) {
        return run([what = std::move(what)](db::connection& on) { return outbox::append(on, what); }
        );
    }
    std::string append(const std::string& key, const std::string& payload) {
        return append(outbox::message("events", key, payload));
    }
    outbox::table_view describe() {
        return run([](db::connection& on) { return outbox::describe(on); });
    }
    std::vector<outbox::row_view> list(outbox::row_kind which) {
        return run([which](db::connection& on) { return outbox::list(on, which, 0, 1'000); });
    }
    void start(outbox::relay_config how) { site_.relay.emplace(site_.executor(), std::move(how)); }
    void start() { start(config()); }
    static void stop(outbox_site& which) {
        wait_for(which.relay->async_stop(asio::use_future));
        which.relay.reset();
    }
    void stop() { stop(site_); }
    void drain() { wait_for(site_.relay->async_drained(asio::use_future)); }
    std::size_t events(outbox::relay_event::kind what) const {
        const std::lock_guard hold(events_mutex_);
        std::size_t found = 0;
        for (const auto& each : events_)
            found += each.type == what ? 1u : 0u;
        return found;
    }
    bool await_state(outbox::shard_status::state what) {
        return eventually([&] {
            for (const auto& each : site_.relay->status()) {
                if (each.at == what)
                    return true;
            }
            return false;
        });
    }

    const scratch_folder folder_;
    fake_cluster cluster_;
    mutable std::mutex events_mutex_;
    std::vector<outbox::relay_event> events_;
    outbox_site site_;
    std::optional<db::sqlite> session_;
};

}  // namespace mortise::test

#endif
