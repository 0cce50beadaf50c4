// SPDX-License-Identifier: BSL-1.0
// A process that uses locks on orders of its parent, one per line:
//
//   acquire NAME [shared]  held NAME TOKEN at NS | failed NAME CODE
//   withdraw NAME       failed NAME 125                         (cancels the acquire)
//   release NAME        released NAME | failed NAME CODE
//   state NAME          state NAME held|unsure|lost|released
//   raise NAME          raised NAME | refused NAME CODE         (the fence of the resource NAME)
//   write NAME TEXT     wrote NAME | refused NAME CODE          (fenced, in one transaction)
//   token NAME          token NAME TOKEN
//   explain             explain TEXT                            (of the store's newest failure)
//   trap send           trap set     (the kernel kills it when it next sends to a socket)
//   trap stop|kill N    trap set     (in the n-th write to the store's log from now on)
//   stop                stopped
//
// It answers on its standard output; times are nanoseconds of CLOCK_BOOTTIME. Unasked, it writes
// `lost NAME CODE` when a lease is lost.
//
// usage: lock_actor PLACE STORE TTL_MS RESOURCE_DATABASE
//
// STORE is a file for the SQLite store, or the URL of another one.

#include "chaos/actor_place.hpp"
#include "chaos/actor_trap.hpp"
#include "mortise/fence/sqlite.hpp"
#include "mortise/mortise.hpp"
#include "mortise/store/sqlite.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/strand.hpp>

#include <sqlite3.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <string>

namespace {

using namespace mortise;

void say(const std::string& line) {
    const std::string whole = line + "\n";
    if (::write(STDOUT_FILENO, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size()))
        std::abort();
}

/// The fenced resource: one row for each name, in a separate database.
class resource {
public:
    explicit resource(const char* path) {
        if (::sqlite3_open(path, &db_) != SQLITE_OK)
            std::abort();
        ::sqlite3_busy_timeout(db_, 10'000);
        run("CREATE TABLE IF NOT EXISTS content(name TEXT PRIMARY KEY, text TEXT)");
    }
    ~resource() { ::sqlite3_close(db_); }
    resource(const resource&) = delete;
    resource& operator=(const resource&) = delete;

    error_code raise(const std::string& name, const fencing_token& held) {
        return sqlite_fence::raise(db_, name, held);
    }

    error_code write(const std::string& name, const std::string& text, const fencing_token& held) {
        run("BEGIN IMMEDIATE");
        if (const error_code refused = sqlite_fence::admit(db_, name, held)) {
            run("ROLLBACK");
            return refused;
        }
        char* sql = ::sqlite3_mprintf(
            "INSERT OR REPLACE INTO content VALUES(%Q, %Q)", name.c_str(), text.c_str()
        );
        run(sql);
        ::sqlite3_free(sql);
        run("COMMIT");
        return {};
    }

private:
    void run(const char* sql) {
        if (::sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
            std::fprintf(stderr, "%s: %s\n", sql, ::sqlite3_errmsg(db_));
            std::abort();
        }
    }

    sqlite3* db_ = nullptr;
};

class actor {
public:
    actor(asio::any_io_executor executor, const char* store, int ttl_ms, const char* database)
        : executor_(executor),
          locks_(executor, store_at(store, trap_), config(ttl_ms)),
          resource_(database) {}

    asio::awaitable<void> run() {
        asio::posix::stream_descriptor in(executor_, ::dup(STDIN_FILENO));
        std::string buffer;
        for (;;) {
            auto read = co_await asio::async_read_until(
                in, asio::dynamic_buffer(buffer), '\n', asio::as_tuple(asio::deferred)
            );
            auto& [ec, size] = read;
            if (ec)
                break;
            std::istringstream words(buffer.substr(0, size));
            buffer.erase(0, size);
            std::string verb;
            std::string name;
            std::string text;
            words >> verb >> name >> text;
            if (verb == "stop")
                break;
            obey(verb, name, text);
        }
        co_await locks_.async_stop();
        say("stopped");
    }

private:
    static std::unique_ptr<store> store_at(const std::string& place, const test::write_trap& trap) {
        if (place.find("://") != std::string::npos)
            return open_store(place);
        sqlite_store_config config;
        config.path = place;
        config.vfs = trap.name();
        return make_sqlite_store(config);
    }

    static client_config config(int ttl_ms) {
        client_config config;
        config.ttl = std::chrono::milliseconds(ttl_ms);
        return config;
    }

    void obey(const std::string& verb, const std::string& name, const std::string& text) {
        if (verb == "acquire")
            asio::co_spawn(executor_, acquire(name, text == "shared"), asio::detached);
        else if (verb == "withdraw")
            cancel_[name].emit(asio::cancellation_type::terminal);
        else if (verb == "trap")
            set_trap(name, text);
        else if (verb == "release")
            asio::co_spawn(executor_, release(name), asio::detached);
        else if (verb == "state")
            say("state " + name + " " + to_string(held_[name].state()));
        else if (verb == "explain")
            say("explain " + locks_.explain());
        else if (verb == "token")
            say("token " + name + " " + std::to_string(held_[name].token().value));
        else if (verb == "raise")
            report("raised ", name, resource_.raise(name, held_[name].token()));
        else if (verb == "write")
            report("wrote ", name, resource_.write(name, text, held_[name].token()));
        else
            say("what? " + verb);
    }

    static void report(const char* done, const std::string& name, error_code code) {
        say(code ? "refused " + name + " " + std::to_string(code.value()) : done + name);
    }

    void set_trap(const std::string& kind, const std::string& number) {
        if (kind == "send")
            say(test::die_at_the_next_send() ? "trap set" : "trap refused");
        else
            trap_.arm(std::stoi(number), kind == "stop" ? SIGSTOP : SIGKILL);
        if (kind != "send")
            say("trap set");
    }

    asio::awaitable<void> acquire(std::string name, bool shared) {
        lock_options options;
        options.mode = shared ? lock_mode::shared() : lock_mode::exclusive();
        auto asking = locks_.async_acquire(
            name,
            options,
            asio::bind_cancellation_slot(cancel_[name].slot(), asio::as_tuple(asio::deferred))
        );
        auto got = co_await std::move(asking);
        auto& [ec, held] = got;
        if (ec) {
            const auto at = std::to_string(clock::now().time_since_epoch().count());
            say("failed " + name + " " + std::to_string(ec.value()) + " at " + at);
            co_return;
        }
        const auto at = clock::now().time_since_epoch().count();
        say("held " + name + " " + std::to_string(held.token().value) + " at " + std::to_string(at)
        );
        held_[name] = std::move(held);
        auto over = co_await held_[name].async_wait_lost(asio::as_tuple(asio::deferred));
        auto& [why] = over;
        if (why != errc::lease_released && why != errc::client_stopped)
            say("lost " + name + " " + std::to_string(why.value()));
    }

    asio::awaitable<void> release(std::string name) {
        auto done = co_await held_[name].async_release(asio::as_tuple(asio::deferred));
        auto& [ec] = done;
        say(ec ? "failed " + name + " " + std::to_string(ec.value()) : "released " + name);
    }

    asio::any_io_executor executor_;
    test::write_trap trap_;
    lock_client locks_;
    resource resource_;
    std::map<std::string, lease> held_;
    std::map<std::string, asio::cancellation_signal> cancel_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: lock_actor PLACE STORE TTL_MS RESOURCE_DATABASE\n");
        return 64;
    }
    if (const std::string refused = mortise::test::move_to(argv[1]); !refused.empty()) {
        std::fprintf(stderr, "lock_actor: %s\n", refused.c_str());
        return 69;
    }
    mortise::asio::io_context context;
    actor one(mortise::asio::make_strand(context), argv[2], std::atoi(argv[3]), argv[4]);
    mortise::asio::co_spawn(context, one.run(), [](std::exception_ptr failure) {
        if (failure)
            std::rethrow_exception(failure);
    });
    context.run();
    return 0;
}
