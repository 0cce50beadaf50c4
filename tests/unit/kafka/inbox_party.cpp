// SPDX-License-Identifier: BSL-1.0
#include "unit/kafka/inbox_party.hpp"

#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string_view>
#include <utility>

namespace mortise::test {
namespace {

template <class T>
T until(std::future<T> future) {
    EXPECT_EQ(future.wait_for(std::chrono::seconds(40)), std::future_status::ready);
    return future.get();
}

}  // namespace

outbox::answer write_down(db::connection& on, const outbox::received& received) {
    on.run(
        "INSERT INTO book(key, line) VALUES(?1, ?2)",
        std::string_view(received.message.key ? *received.message.key : std::string()),
        std::string_view(received.message.payload ? *received.message.payload : std::string())
    );
    return outbox::answer::done();
}

inbox_party::inbox_party(std::filesystem::path database, outbox::inbox_handler handler) {
    db::sqlite_config config;
    config.path = std::move(database);
    config.busy_max = std::chrono::milliseconds(100);
    session_ = std::make_shared<db::sqlite>(site_.executor(), std::move(config));
    run([](db::connection& on) {
        on.run("CREATE TABLE IF NOT EXISTS book(key TEXT NOT NULL, line TEXT NOT NULL)");
    });
    outbox::inbox_config how;
    how.handler = handler ? std::move(handler) : outbox::inbox_handler(&write_down);
    inbox_ = std::make_shared<outbox::inbox>(site_.executor(), session_, std::move(how));
}

inbox_party::~inbox_party() {
    consumer_.reset();
    stop_inbox();
    inbox_.reset();
    session_.reset();
}

void inbox_party::start(kafka::inbox_consumer_config how) {
    how.retry_first = std::chrono::milliseconds(5);
    how.retry_max = std::chrono::milliseconds(50);
    how.observer = [this](const kafka::consumer_event& event) {
        const std::lock_guard hold(mutex_);
        events_.push_back(event);
    };
    consumer_.emplace(site_.executor(), inbox_, std::move(how));
}

void inbox_party::stop() {
    until(consumer_->async_stop(asio::use_future));
    consumer_.reset();
}

void inbox_party::stop_inbox() {
    until(inbox_->async_stop(asio::use_future));
}

std::vector<kafka::consumer_event> inbox_party::events(kind type) const {
    const std::lock_guard hold(mutex_);
    std::vector<kafka::consumer_event> found;
    for (const auto& each : events_) {
        if (each.type == type)
            found.push_back(each);
    }
    return found;
}

std::string inbox_party::event_texts() const {
    const std::lock_guard hold(mutex_);
    std::string all;
    for (const auto& each : events_)
        all += std::string(to_string(each.type)) + ' ' + each.at.topic + '/' +
               std::to_string(each.at.partition) + " at " + std::to_string(each.offset) + ' ' +
               each.code.message() + ' ' + each.text + '\n';
    return all;
}

std::size_t inbox_party::assigned() const {
    const auto taken =
        events(kind::assigned).size() + events(kind::skipped).size() + events(kind::refused).size();
    return taken - events(kind::revoked).size();
}

std::map<std::string, std::vector<std::string>> inbox_party::written() {
    const auto work = [](db::connection& on) {
        std::map<std::string, std::vector<std::string>> found;
        auto row = on.query("SELECT key, line FROM book ORDER BY rowid");
        while (row.step())
            found[row.text(0)].push_back(row.text(1));
        return found;
    };
    return until(session_->async_read(work, asio::use_future));
}

std::size_t inbox_party::count() {
    const auto work = [](db::connection& on) {
        auto row = on.query("SELECT count(*) FROM book");
        row.step();
        return static_cast<std::size_t>(row.integer(0));
    };
    return until(session_->async_read(work, asio::use_future));
}

void inbox_party::run(std::function<void(db::connection&)> work) {
    until(session_->async_run(std::move(work), db::durability::force, asio::use_future));
}

}  // namespace mortise::test
