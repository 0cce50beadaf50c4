// SPDX-License-Identifier: BSL-1.0
#include "chaos/chaos_store.hpp"

#include "chaos/chaos_test.hpp"
#include "support/redis_parties.hpp"
#include "support/redis_server.hpp"

#include <algorithm>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

class sqlite_chaos_store final : public chaos_store {
public:
    std::string address() const override { return folder() / "locks.db"; }
    std::chrono::milliseconds ttl() const override { return 2s; }
    // By the proof of a death, long before the TTL is over.
    std::chrono::milliseconds takeover_max() const override { return 1s; }

    std::int64_t parties(const std::string& name) override {
        return sql_at(
            folder(), "SELECT count(*) FROM entry WHERE name = CAST('" + name + "' AS BLOB)"
        );
    }

    std::int64_t sessions() override { return sql_at(folder(), "SELECT count(*) FROM session"); }

    bool empty() override {
        const std::filesystem::directory_iterator files(folder() / "locks.db.mortise");
        const bool sockets = std::any_of(begin(files), end(files), [](const auto& each) {
            return each.is_socket();
        });
        return !sockets && sessions() + sql_at(folder(), "SELECT count(*) FROM entry") == 0;
    }
};

class redis_chaos_store final : public chaos_store {
public:
    std::string address() const override {
        return "redis://" + server_.address() + "?assume_new=1";
    }
    std::chrono::milliseconds ttl() const override { return 1s; }
    std::chrono::milliseconds takeover_max() const override { return 1'100ms; }

    std::int64_t parties(const std::string& name) override { return parties_at(admin_, name); }

    std::int64_t sessions() override { return admin_.command({"ZCARD", store_key("d")}).number; }

    bool empty() override {
        const auto keys = admin_.command({"KEYS", "*"}).texts();
        return std::all_of(keys.begin(), keys.end(), [](const std::string& key) {
            return is_lasting(key);
        });
    }

    void suspend() override { server_.suspend(); }
    void resume() override { server_.resume(); }
    void end_connections() override { admin_.command({"CLIENT", "KILL", "SKIPME", "yes"}); }

private:
    redis_server server_;
    raw_redis admin_ = server_.connect();
};

}  // namespace

std::unique_ptr<chaos_store> make_sqlite_chaos_store() {
    return std::make_unique<sqlite_chaos_store>();
}

std::unique_ptr<chaos_store> make_redis_chaos_store() {
    return std::make_unique<redis_chaos_store>();
}

}  // namespace mortise::test
