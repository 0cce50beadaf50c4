// SPDX-License-Identifier: BSL-1.0
// Any command line is understood or refused with the exit code for it. The settings of one that is
// understood are within their limits, and the user's words are passed on as they were written.
#include "command_line.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "fuzz/target.hpp"
#include "fuzz/vocabulary.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace mortise::fuzz::command_line_target {
namespace {

using std::chrono::milliseconds;
using word_list = std::vector<std::string>;

constexpr const char* words =
    "run ls show break watch doctor bench handoff contend waiters txn local uncontended "
    "bench-worker --lock --lock= --wait --ttl --grace --shared --permits --hold-max --why --token "
    "--slot --store --json --version --help --all --create --greedy --tasks --seconds "
    "--acquisitions --processes --n --in-flight --hold --think --no-local --contend --index "
    "--board --peer outbox inbox parked replay drop rebase reshard relay --db --rows --limit --yes "
    "--after --beginning --end --to --until-empty -- - -h 1 0 65535 65536 -1 18446744073709551615 "
    "10s 1h 500ms 99999999h NAME";

std::optional<tool::command_line> parsed(const word_list& arguments) {
    try {
        return tool::parse_command_line(arguments);
    } catch (const tool::failure& why) {
        MORTISE_ASSERT(why.exit_code() == tool::exit_code::usage);
        MORTISE_ASSERT(!why.text().empty());
        return std::nullopt;
    }
}

bool within(milliseconds span) {
    return span >= milliseconds::zero() && (span <= duration_max || span == milliseconds::max());
}

struct limits {
    void operator()(const tool::version_wanted&) const {}
    void operator()(const tool::help_wanted& help) const { MORTISE_ASSERT(!help.text.empty()); }
    void operator()(const tool::run_settings& run) const {
        MORTISE_ASSERT(!run.command.empty());
        MORTISE_ASSERT(within(run.wait) && within(run.grace) && within(run.ttl));
        MORTISE_ASSERT(within(run.hold_max));
        const bool permits = run.mode.type() == lock_mode::kind::permits;
        MORTISE_ASSERT(permits == (run.mode.capacity() != 0));
        MORTISE_ASSERT(run.mode.capacity() <= lock_mode::capacity_max);
    }
    void operator()(const tool::ls_settings&) const {}
    void operator()(const tool::show_settings&) const {}
    void operator()(const tool::break_settings& settings) const {
        MORTISE_ASSERT(settings.why.find_first_not_of(" \t\r\n") != std::string::npos);
        MORTISE_ASSERT(
            !settings.slot || (*settings.slot >= 1 && *settings.slot <= lock_mode::capacity_max)
        );
    }
    void operator()(const tool::watch_settings&) const {}
    void operator()(const tool::doctor_settings&) const {}
    void operator()(const tool::init_settings&) const {}
    void operator()(const tool::txn_settings& settings) const {
        MORTISE_ASSERT(within(settings.wait));
    }
    void operator()(const tool::outbox_settings& settings) const {
        using kind = tool::outbox_settings::kind;
        MORTISE_ASSERT(!settings.row || *settings.row >= 1);
        MORTISE_ASSERT(settings.rows_max >= 1);
        MORTISE_ASSERT(settings.verb != kind::show || settings.row);
        MORTISE_ASSERT(settings.verb != kind::replay || settings.row.has_value() != settings.all);
        MORTISE_ASSERT(settings.verb != kind::drop || (settings.row && settings.yes));
        if (settings.verb == kind::rebase)
            MORTISE_ASSERT(settings.where && settings.shard.has_value() != settings.all);
        if (settings.verb == kind::reshard)
            MORTISE_ASSERT(settings.shards >= 1 && settings.shards <= 256);
        MORTISE_ASSERT(settings.verb != kind::relay || !settings.folder.empty());
    }
    void operator()(const tool::inbox_settings& settings) const {
        using kind = tool::inbox_settings::kind;
        MORTISE_ASSERT(!settings.row || *settings.row >= 1);
        MORTISE_ASSERT(settings.verb != kind::replay || settings.row.has_value() != settings.all);
        MORTISE_ASSERT(settings.verb != kind::drop || (settings.row && settings.yes));
    }
    void operator()(const tool::bench_settings& bench) const {
        MORTISE_ASSERT(bench.processes >= 1 && bench.processes <= 256);
        MORTISE_ASSERT(bench.tasks >= 1 && bench.tasks <= 10'000);
        MORTISE_ASSERT(bench.seconds >= 1 && bench.seconds <= 3'600);
        MORTISE_ASSERT(bench.waiters >= 1 && bench.acquisitions >= 1 && bench.in_flight >= 1);
        MORTISE_ASSERT(within(bench.hold) && within(bench.think));
    }
    void operator()(const tool::bench_worker_settings&) const {}
};

void check_any(const word_list& arguments) {
    tool::wants_json(arguments);
    if (const auto understood = parsed(arguments))
        std::visit(limits(), understood->wanted);
}

// Names, reasons and tokens that are given in the form that takes any bytes.
void check_exact(const std::string& name, const std::string& why, std::uint64_t token) {
    const std::string number = std::to_string(token);
    const auto order =
        parsed({"break", "--lock=" + name, "--why=" + why, "--token", number, "--json"});
    if (!name.empty() && why.find_first_not_of(" \t\r\n") != std::string::npos)
        MORTISE_ASSERT(order);
    if (!order)
        return;
    const auto& wanted = std::get<tool::break_settings>(order->wanted);
    MORTISE_ASSERT(wanted.lock == name && wanted.why == why && wanted.token == token);
    MORTISE_ASSERT(order->global.json);
}

void check_command(const std::string& name, const word_list& command) {
    word_list arguments{"run", "--lock=" + name, "--"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    const auto order = parsed(arguments);
    MORTISE_ASSERT(order.has_value() == (!name.empty() && !command.empty()));
    if (order) {
        const auto& run = std::get<tool::run_settings>(order->wanted);
        MORTISE_ASSERT(run.lock == name && run.command == command);
    }
}

}  // namespace

MORTISE_FUZZ_TARGET(command_line) {
    ::unsetenv("MORTISE_STORE");
    // One check an input: to know all that may be said takes a millisecond each time.
    const std::size_t check = in.pick(3);
    const std::string name = in.text(24);
    if (check == 0) {
        const auto token = in.edge<std::uint64_t>();
        return check_exact(name, in.text(24), token);
    }
    static const vocabulary known(words);
    word_list arguments;
    constexpr std::size_t words_max = 14;
    while (!in.used_up() && arguments.size() < words_max) {
        arguments.push_back(known.pick(in, 24));
        // A value in the same word, as in --wait=10s.
        if (arguments.back().starts_with("--") && in.pick(4) == 0)
            arguments.back() += '=' + in.text(12);
    }
    if (check == 1)
        check_any(arguments);
    else
        check_command(name, arguments);
}

}  // namespace mortise::fuzz::command_line_target
