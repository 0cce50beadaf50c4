// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_command.hpp"
#include "bench/bench_worker.hpp"
#include "break_command.hpp"
#include "command_line.hpp"
#include "default_store.hpp"
#include "doctor_command.hpp"
#include "exit_code.hpp"
#include "failure.hpp"
#include "inbox_command.hpp"
#include "ls_command.hpp"
#include "outbox_command.hpp"
#include "run_command.hpp"
#include "show_command.hpp"
#include "txn_command.hpp"
#include "version_command.hpp"
#include "watch_command.hpp"

#include <iostream>
#include <string>
#include <variant>
#include <vector>

namespace mortise::tool {
namespace {

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
        const failure what = failure::of(e);
        what.report(wants_json(arguments));
        return what.exit_code();
    }
}

}  // namespace
}  // namespace mortise::tool

int main(int argc, char** argv) {
    return mortise::tool::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
