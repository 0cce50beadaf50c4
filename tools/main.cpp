// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_command.hpp"
#include "command_line.hpp"
#include "common/default_store.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "common/json.hpp"
#include "lock/lock_commands.hpp"
#include "lock/watch_command.hpp"
#include "mortise/version.hpp"
#include "outbox/inbox_command.hpp"
#include "outbox/outbox_command.hpp"
#include "txn/txn_command.hpp"

#include <boost/version.hpp>

#ifdef MORTISE_WITH_REDIS
#include <openssl/crypto.h>
#endif
#include <sqlite3.h>

#include <iostream>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace mortise::tool {
namespace {

std::string boost_version() {
    return std::to_string(BOOST_VERSION / 100'000) + '.' +
           std::to_string(BOOST_VERSION / 100 % 1'000) + '.' + std::to_string(BOOST_VERSION % 100);
}

/// The version of OpenSSL, which serves TLS. Nothing if this program has no Redis.
std::optional<std::string> openssl_version() {
#ifdef MORTISE_WITH_REDIS
    return ::OpenSSL_version(OPENSSL_VERSION_STRING);
#else
    return std::nullopt;
#endif
}

/// `mortise --version`: prints the version of mortise and of its libraries. @return the exit code.
int show_version(const global_settings& global) {
    const auto tls = openssl_version();
    if (global.json) {
        json::object fields{
            {"version", mortise::version()},
            {"boost", boost_version()},
            {"sqlite", ::sqlite3_libversion()}};
        if (tls)
            fields["openssl"] = *tls;
        std::cout << json::serialize(fields) << '\n';
    } else {
        std::cout << "mortise " << mortise::version() << " (Boost " << boost_version()
                  << ", SQLite " << ::sqlite3_libversion();
        if (tls)
            std::cout << ", OpenSSL " << *tls;
        std::cout << ")\n";
    }
    return exit_code::success;
}

/// Runs the command of the command line; one call operator for each command.
class dispatcher {
public:
    explicit dispatcher(const global_settings& global) : global_(global) {}

    int operator()(const version_wanted&) const { return show_version(global_); }
    int operator()(const run_settings& settings) const { return run_under_lock(used(), settings); }
    int operator()(const ls_settings& settings) const { return list_locks(used(), settings); }
    int operator()(const show_settings& settings) const { return show_lock(used(), settings); }
    int operator()(const break_settings& settings) const { return break_lock(used(), settings); }
    int operator()(const watch_settings& settings) const { return watch_locks(used(), settings); }
    int operator()(const doctor_settings& settings) const {
        return doctor(with_url(settings.create), settings);
    }
    int operator()(const init_settings& settings) const { return init_store(used(), settings); }
    int operator()(const txn_settings& settings) const { return transactions(global_, settings); }
    int operator()(const outbox_settings& settings) const {
        return message_table(global_, settings);
    }
    int operator()(const inbox_settings& settings) const { return inboxes(global_, settings); }
    int operator()(const bench_settings& settings) const { return bench(global_, settings); }
    int operator()(const bench_worker_settings& settings) const {
        return bench_worker(global_, settings);
    }
    int operator()(const help_wanted& help) const {
        std::cout << help.text;
        return exit_code::success;
    }

private:
    /// The settings with the URL of a store filled in. Creates the folder of the user's default
    /// store.
    global_settings used() const { return with_url(true); }

    global_settings with_url(bool make_folder) const {
        global_settings settings = global_;
        if (settings.store.empty()) {
            settings.store = default_store_url();
            if (make_folder)
                make_default_folder();
        }
        return settings;
    }

    const global_settings& global_;
};

int run(const std::vector<std::string>& arguments) {
    try {
        const command_line line = parse_command_line(arguments);
        const int code = std::visit(dispatcher(line.global), line.wanted);
        std::cout.flush();
        return code;
    } catch (const std::exception& e) {
        const failure problem = failure::of(e);
        problem.report(wants_json(arguments));
        return problem.exit_code();
    }
}

}  // namespace
}  // namespace mortise::tool

int main(int argc, char** argv) {
    return mortise::tool::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
