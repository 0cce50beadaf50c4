// SPDX-License-Identifier: BSL-1.0
#include "conformance/datagram_relay.hpp"
#include "conformance/detachable_store.hpp"
#include "conformance/port_conformance.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/store/sqlite.hpp"
#include "support/deaf_inboxes.hpp"
#include "support/scratch_folder.hpp"

#include <boost/asio/io_context.hpp>

#include <sqlite3.h>

#include <filesystem>
#include <optional>
#include <string>

namespace mortise::test {
namespace {

/// The SQLite store in a folder of its own, in real time.
class sqlite_harness final : public store_harness {
public:
    static store_abilities abilities() {
        store_abilities all;
        all.traits = sqlite_harness().make_store()->traits();
        all.loses_replies = all.loses_pushes = all.spoils = true;
        all.lives_anywhere = true;
        all.sees_death = true;
        return all;
    }

    std::unique_ptr<store> make_store() override {
        sqlite_store_config config;
        config.path = folder_ / "locks.db";
        return make_detachable(make_sqlite_store(config), line_);
    }

    asio::any_io_executor executor() override { return context_.get_executor(); }
    std::shared_ptr<coro::time_source> time() override { return time_; }
    std::chrono::milliseconds ttl() const override { return std::chrono::milliseconds(600); }

    bool run_until(const std::function<bool()>& done, clock::duration limit) override {
        const auto end = time_->now() + limit;
        context_.restart();
        while (!done() && time_->now() < end) {
            if (relay_)
                relay_->look();
            context_.run_one_for(std::chrono::milliseconds(20));
        }
        return done();
    }

    std::size_t residue() override {
        std::size_t count = rows("session") + rows("entry");
        for (const auto& each : std::filesystem::directory_iterator(folder_ / "locks.db.mortise"))
            count += each.is_socket();
        return count;
    }

    void lose_replies(std::size_t count) override { line_->replies_to_lose = count; }

    // Loses all pushes from now on, unless `count` is zero.
    void lose_pushes(std::size_t count) override {
        const auto all = [](const std::string& name) { return name.ends_with(".d"); };
        EXPECT_TRUE(count == 0 || deafen_inboxes(all) != 0);
    }

    // Spoils datagrams from session to session.
    void spoil(std::size_t nth, sim::fate how) override {
        if (!relay_)
            relay_.emplace(context_, folder_ / "locks.db.mortise", ".d", folder_ / "away");
        spoiled_ = false;
        relay_->decide([this, how, left = nth]() mutable {
            if (spoiled_ || how == sim::fate::as_usual || left-- != 0)
                return datagram_relay::delivery::once;
            spoiled_ = true;
            return delivery_of(how);
        });
    }
    bool spoiled() const override { return spoiled_; }
    bool messages_are_hints() const override { return true; }

private:
    static datagram_relay::delivery delivery_of(sim::fate how) {
        switch (how) {
        case sim::fate::as_usual:
            break;
        case sim::fate::lost:
            return datagram_relay::delivery::never;
        case sim::fate::late:
            return datagram_relay::delivery::late;
        case sim::fate::repeated:
            return datagram_relay::delivery::twice;
        }
        return datagram_relay::delivery::once;
    }

    std::size_t rows(const std::string& table) {
        sqlite3* db = nullptr;
        EXPECT_EQ(::sqlite3_open((folder_ / "locks.db").c_str(), &db), SQLITE_OK);
        ::sqlite3_busy_timeout(db, 5'000);
        std::size_t count = 0;
        const std::string sql = "SELECT count(*) FROM " + table;
        EXPECT_EQ(
            ::sqlite3_exec(
                db,
                sql.c_str(),
                [](void* into, int, char** values, char**) {
                    *static_cast<std::size_t*>(into) = std::stoul(values[0]);
                    return 0;
                },
                &count,
                nullptr
            ),
            SQLITE_OK
        );
        ::sqlite3_close(db);
        return count;
    }

    const std::shared_ptr<faulty_line> line_ = std::make_shared<faulty_line>();
    const scratch_folder scratch_;
    const std::filesystem::path folder_ = scratch_.path();
    bool spoiled_ = false;
    asio::io_context context_;
    std::optional<datagram_relay> relay_;
    std::shared_ptr<coro::time_source> time_ = coro::make_boot_time_source(context_.get_executor());
};

}  // namespace
}  // namespace mortise::test

MORTISE_LOCK_CONFORMANCE(Sqlite, sqlite_harness)
