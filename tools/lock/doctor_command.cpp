// SPDX-License-Identifier: BSL-1.0
#include "common/await_main.hpp"
#include "common/default_store.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "common/signal_source.hpp"
#include "lock/doctor_probe.hpp"
#include "lock/lock_commands.hpp"
#include "mortise/open_store.hpp"
#include "mortise/store.hpp"

#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>

namespace mortise::tool {
namespace {

asio::awaitable<int> examine(doctor_probe& probe, doctor_report& report) {
    co_await probe.examine(report);
    co_return report.worst() == store_finding::verdict::broken ? exit_code::check_failed
                                                               : exit_code::success;
}

asio::awaitable<int>
examine_and_stop(signal_source& signals, doctor_probe& probe, doctor_report& report) {
    int code = 0;
    std::exception_ptr failed;
    try {
        code = co_await until_signalled(signals, examine(probe, report), {});
    } catch (...) {
        failed = std::current_exception();
    }
    co_await probe.stop();
    if (failed)
        std::rethrow_exception(failed);
    co_return code;
}

/// Refuses an SQLite store that does not exist: an examination must not create one.
void require_store(const std::string& url) {
    const auto path = sqlite_path(url);
    std::error_code failed;
    if (!path || std::filesystem::exists(*path, failed) || failed)
        return;
    throw failure(
        exit_code::unavailable,
        "there is no store here yet, and none was made",
        url,
        "the first `mortise run` makes it; so does `mortise doctor --create`"
    );
}

/// The URL for an examination. Two clients measure the store: one in memory needs a name, or each
/// client would get its own. A database server must not be asked to make tables.
std::string examined_url(const std::string& url, bool create) {
    if (url == "memory:")
        return "memory:doctor";
    const bool makes_tables = url.starts_with("postgres:") || url.starts_with("postgresql:") ||
                              url.starts_with("mysql:") || url.starts_with("mariadb:");
    if (create || !makes_tables || url.find("create=") != std::string::npos)
        return url;
    return url + (url.find('?') == std::string::npos ? '?' : '&') + "create=0";
}

}  // namespace

int doctor(const global_settings& global, const doctor_settings& settings) {
    if (!settings.create)
        require_store(global.store);
    asio::io_context context(1);
    signal_source signals(context.get_executor());  // before the clients, which start threads
    const std::string url = examined_url(global.store, settings.create);
    const auto make = [&] { return open_store(url); };
    doctor_report report;
    doctor_probe probe(
        context.get_executor(), coro::make_boot_time_source(context.get_executor()), make
    );
    const int code = await_main(context, examine_and_stop(signals, probe, report));
    if (code >= exit_code::signal_base)
        return code;
    if (global.json)
        report.write_json(std::cout, global.shown_store());
    else
        report.write(std::cout);
    return code;
}

}  // namespace mortise::tool
