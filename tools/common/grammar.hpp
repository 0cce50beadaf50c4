// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_COMMON_GRAMMAR_HPP
#define MORTISE_TOOLS_COMMON_GRAMMAR_HPP

#include "common/settings.hpp"

#include <chrono>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace mortise::tool {

// The commands that have commands of their own, as parts of the command line. Each function adds a
// command and its options; parsing writes them to `target`.

CLI::App& add_txn(CLI::App& app, txn_settings& target);
CLI::App& add_outbox(CLI::App& app, outbox_settings& target);
CLI::App& add_inbox(CLI::App& app, inbox_settings& target);
CLI::App& add_bench(CLI::App& to, bench_settings& target);
CLI::App& add_bench_worker(CLI::App& to, bench_worker_settings& target);

/// Returns its argument. @throws failure if a needed option is missing or empty.
const txn_settings& checked(const txn_settings& settings);
const outbox_settings& checked(const outbox_settings& settings);
const inbox_settings& checked(const inbox_settings& settings);

/// Adds an option that takes a duration.
CLI::Option* add_duration(
    CLI::App& app,
    const std::string& name,
    std::chrono::milliseconds& target,
    const std::string& meaning
);

}  // namespace mortise::tool

#endif
