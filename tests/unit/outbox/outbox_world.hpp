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
        outbox::relay_config config;
        config.database = database();
        config.sink = cluster_.factory();
        config.retry_first = std::chrono::milliseconds(1);
        config.retry_max = std::chrono::milliseconds(10);
        config.jitter_seed = 1;
        config.observer = [this](const outbox::relay_event& event) {
            const std::lock_guard hold(events_mutex_);
            events_.push_back(event);
        };
        return config;
    }

    template <class T>
    static T wait_for(std::future<T> future) {
        EXPECT_EQ(future.wait_for(std::chrono::seconds(20)), std::future_status::ready);
        return future.get();
    }
    template <class Work>
    auto run(Work work, db::durability how = db::durability::force) {
        return wait_for(session_->async_run(std::move(work), how, asio::use_future));
    }
    std::string append(outbox::message message) {
        return run([message = std::move(message)](db::connection& on) {
            return outbox::append(on, message);
        });
    }
    std::string append(const std::string& key, const std::string& payload) {
        return append(outbox::message("events", key, payload));
    }
    outbox::table_view describe() {
        return run([](db::connection& on) { return outbox::describe(on); });
    }
    std::vector<outbox::row_view> list(outbox::row_kind type) {
        return run([type](db::connection& on) { return outbox::list(on, type, 0, 1'000); });
    }
    void start(outbox::relay_config how) { site_.relay.emplace(site_.executor(), std::move(how)); }
    void start() { start(config()); }
    static void stop(outbox_site& site) {
        wait_for(site.relay->async_stop(asio::use_future));
        site.relay.reset();
    }
    void stop() { stop(site_); }
    void drain() { wait_for(site_.relay->async_drained(asio::use_future)); }
    std::size_t events(outbox::relay_event::kind type) const {
        const std::lock_guard hold(events_mutex_);
        std::size_t found = 0;
        for (const auto& each : events_)
            found += each.type == type ? 1u : 0u;
        return found;
    }
    bool await_state(outbox::shard_status::state wanted) {
        return eventually([&] {
            for (const auto& each : site_.relay->status()) {
                if (each.at == wanted)
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
