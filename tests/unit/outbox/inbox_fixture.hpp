// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_OUTBOX_INBOX_FIXTURE_HPP
#define MORTISE_TESTS_UNIT_OUTBOX_INBOX_FIXTURE_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/outbox/append.hpp"
#include "mortise/outbox/error.hpp"
#include "mortise/outbox/inbox.hpp"
#include "mortise/outbox/inbox_view.hpp"
#include "support/eventually.hpp"
#include "support/scratch_folder.hpp"
#include "unit/outbox/outbox_site.hpp"

#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::test {

/// A book that handlers write into, in the database of the inbox.
class OutboxInbox : public testing::Test {
protected:
    OutboxInbox() { open(); }
    ~OutboxInbox() override {
        inbox_.reset();
        session_.reset();
    }

    void open() {
        db::sqlite_config config;
        config.path = folder_.path() / "shop.db";
        session_ = std::make_shared<db::sqlite>(site_.executor(), std::move(config));
    }
    outbox::inbox_config config() {
        outbox::inbox_config config;
        config.retry_first = std::chrono::milliseconds(1);
        config.retry_max = std::chrono::milliseconds(5);
        config.attempts_max = 3;
        config.jitter_seed = 1;
        config.handler = [this](db::connection& on, const outbox::received& received) {
            return handle(on, received);
        };
        config.observer = [this](const outbox::inbox_event& event) {
            const std::lock_guard hold(mutex_);
            events_.push_back(event);
        };
        return config;
    }
    /// Writes first, so that there is something to be undone.
    outbox::answer handle(db::connection& on, const outbox::received& received) {
        const auto text = received.message.payload.value_or("");
        on.run(
            "INSERT INTO book(key, line) VALUES(?1, ?2)",
            std::string_view(received.message.key ? *received.message.key : std::string()),
            std::string_view(text)
        );
        if (text == "fails" && failures_-- > 0)
            throw std::runtime_error("not yet");
        if (text == "is refused") {
            outbox::append(on, outbox::message("never", "k", "undone"));
            return outbox::answer::refused(
                outbox::message("refusals", received.message.key, "take it back")
            );
        }
        if (text == "is nonsense")
            return outbox::answer::parked("nobody understands it");
        return outbox::answer::done();
    }
    /// As a handler that takes so long.
    static void work_for(std::chrono::milliseconds span) {
        const auto end = clock::now() + span;
        while (clock::now() < end) {
        }
    }
    void start(outbox::inbox_config how) {
        inbox_.emplace(site_.executor(), session_, std::move(how));
    }
    void start() { start(config()); }

    template <class T>
    static T wait_for(std::future<T> future) {
        EXPECT_EQ(future.wait_for(std::chrono::seconds(20)), std::future_status::ready);
        return future.get();
    }
    template <class Work>
    auto run(Work work) {
        return wait_for(
            session_->async_run(std::move(work), db::durability::force, asio::use_future)
        );
    }
    void SetUp() override {
        run([](db::connection& on) {
            on.run("CREATE TABLE book(id INTEGER PRIMARY KEY, key TEXT, line TEXT)");
        });
    }
    outbox::received of(const std::string& key, const std::string& payload) {
        outbox::message event("events", key, payload);
        event.id = "m" + std::to_string(next_);
        return {"events-0", next_++, std::move(event)};
    }
    void deliver(std::vector<outbox::received> messages) {
        wait_for(inbox_->async_receive(std::move(messages), asio::use_future));
    }
    error_code fault_of(std::vector<outbox::received> messages) {
        try {
            deliver(std::move(messages));
        } catch (const boost::system::system_error& why) {
            return why.code();
        }
        return {};
    }
    std::vector<std::string> book(const std::string& key = "k") {
        return run([key](db::connection& on) {
            std::vector<std::string> found;
            auto row =
                on.query("SELECT line FROM book WHERE key = ?1 ORDER BY id", std::string_view(key));
            while (row.step())
                found.push_back(row.text(0));
            return found;
        });
    }
    std::vector<outbox::held_message> held() {
        return run([](db::connection& on) { return outbox::list_held(on, 0, 1'000); });
    }
    std::size_t events(outbox::inbox_event::kind type) const {
        const std::lock_guard hold(mutex_);
        std::size_t found = 0;
        for (const auto& each : events_)
            found += each.type == type ? 1u : 0u;
        return found;
    }

    const scratch_folder folder_;
    mutable std::mutex mutex_;
    std::vector<outbox::inbox_event> events_;
    std::atomic<int> failures_{0};
    std::int64_t next_ = 0;
    outbox_site site_;
    std::shared_ptr<db::sqlite> session_;
    std::optional<outbox::inbox> inbox_;
};

}  // namespace mortise::test

#endif
