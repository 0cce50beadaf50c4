// SPDX-License-Identifier: BSL-1.0
#include "command_line.hpp"

#include "duration_text.hpp"
#include "exit_code.hpp"
#include "failure.hpp"
#include "help.hpp"
#include "outbox_command_line.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <memory>
#include <system_error>
#include <utility>

namespace mortise::tool {
namespace {

using std::chrono::milliseconds;
using bench_kind = bench_settings::kind;

/// Adds an option that takes a duration.
CLI::Option* add_duration(
    CLI::App& app, const std::string& name, milliseconds& target, const std::string& what
) {
    const auto read = [name, &target](const std::string& text) {
        target = parse_duration(name, text);
    };
    return app.add_option_function<std::string>(name, read, what)->type_name("DURATION");
}

/// Parses a token. CLI11 would accept a negative number as a large one.
std::uint64_t parse_token(const std::string& text) {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end) {
        throw failure(
            exit_code::usage, "this is no token", "'" + text + "'", "`mortise show` shows it"
        );
    }
    return value;
}

/// Writes the usage of `run`: CLI11 does not know about the command after `--`.
class run_formatter final : public CLI::Formatter {
public:
    std::string make_usage(const CLI::App*, std::string) const override {
        return "Usage: mortise run --lock NAME [OPTIONS] -- COMMAND [ARGUMENTS...]\n";
    }
};

/// The options and commands of `mortise`, and the variables that CLI11 writes to.
class grammar {
public:
    grammar();
    grammar(const grammar&) = delete;
    grammar& operator=(const grammar&) = delete;

    command_line parse(std::vector<std::string> before, std::vector<std::string> after);

private:
    void add_run();
    void add_run_modes(CLI::App& run);
    void add_ls();
    void add_show();
    void add_break();
    void add_watch();
    void add_doctor();
    void add_txn();
    void add_txn_orders(CLI::App& txn);
    void add_bench();
    void add_bench_worker();
    void add_contend_options(CLI::App& app, bench_settings& bench);
    void add_relay_options(CLI::App& app);
    void add_tcc_options(CLI::App& app);
    command_line::order wanted();
    const break_settings& wanted_break() const;
    const txn_settings& wanted_txn() const;

    CLI::App app_{help::summary, "mortise"};
    CLI::App* run_command_ = nullptr;
    CLI::App* ls_command_ = nullptr;
    CLI::App* show_command_ = nullptr;
    CLI::App* break_command_ = nullptr;
    CLI::App* watch_command_ = nullptr;
    CLI::App* doctor_command_ = nullptr;
    CLI::App* txn_command_ = nullptr;
    CLI::App* outbox_command_ = nullptr;
    CLI::App* inbox_command_ = nullptr;
    CLI::App* bench_command_ = nullptr;
    CLI::App* worker_command_ = nullptr;
    bool version_ = false;
    bool greedy_ = false;
    global_settings global_;
    run_settings run_;
    ls_settings ls_;
    show_settings show_;
    break_settings break_;
    watch_settings watch_;
    doctor_settings doctor_;
    txn_settings txn_;
    outbox_settings outbox_;
    inbox_settings inbox_;
    bench_settings bench_;
    bench_worker_settings worker_;
};

grammar::grammar() {
    app_.footer(help::footer);
    app_.set_help_flag("-h,--help", "Show this help; `mortise COMMAND --help` shows more");
    app_.add_flag("--version", version_, "Show the version");
    app_.add_option("--store", global_.store, help::store)
        ->envname("MORTISE_STORE")
        ->type_name("URL");
    app_.add_flag("--json", global_.json, "Results and errors as JSON, for programs");
    app_.require_subcommand(0, 1);
    add_run();
    add_ls();
    add_show();
    add_break();
    add_watch();
    add_doctor();
    add_txn();
    outbox_command_ = &add_outbox(app_, outbox_);
    inbox_command_ = &add_inbox(app_, inbox_);
    add_bench();
    add_bench_worker();
}

void grammar::add_run() {
    CLI::App& run = *app_.add_subcommand("run", help::run)->fallthrough();
    run.formatter(std::make_shared<run_formatter>());
    run.footer(help::run_footer);
    run.add_option("--lock", run_.lock, "The name of the lock")->required()->type_name("NAME");
    add_duration(
        run,
        "--wait",
        run_.wait,
        "How long to wait for the lock (500ms, 10s, 2m, 1h); 0 is one try; default: for ever"
    );
    add_duration(
        run, "--grace", run_.grace, "When the lock is lost: time between TERM and KILL; default: 5s"
    );
    add_duration(
        run, "--ttl", run_.ttl, "How long the store keeps the lock without a heartbeat; default: 5s"
    );
    add_run_modes(run);
    run_command_ = &run;
}

void grammar::add_run_modes(CLI::App& run) {
    CLI::Option* shared = run.add_flag_callback(
        "--shared",
        [this] { run_.mode = lock_mode::shared(); },
        "Share the lock with all that say so, too; without it the lock excludes everybody"
    );
    const auto permits = [this](std::uint32_t count) { run_.mode = lock_mode::permits(count); };
    run.add_option_function<std::uint32_t>(
           "--permits", permits, "At most N at a time; all that use the lock must say the same N"
    )
        ->type_name("N")
        ->check(CLI::Range(std::uint32_t{1}, lock_mode::capacity_max))
        ->excludes(shared);
    add_duration(
        run,
        "--hold-max",
        run_.hold_max,
        "When this has passed the store frees the lock, and the command is ended; default: never"
    );
}

void grammar::add_ls() {
    CLI::App& ls = *app_.add_subcommand("ls", help::ls)->fallthrough();
    ls.footer(help::ls_footer);
    ls.add_flag("--all", ls_.all, "Also show each waiter (at most 1,000 a lock)");
    ls_command_ = &ls;
}

/// The name of a lock, as `NAME` or as `--lock NAME`.
void add_lock_name(CLI::App& app, std::string& name) {
    app.add_option("NAME,--lock", name, "The name of the lock")->required()->type_name("");
}

void grammar::add_show() {
    CLI::App& show = *app_.add_subcommand("show", help::show)->fallthrough();
    show.footer(help::show_footer);
    add_lock_name(show, show_.lock);
    show_command_ = &show;
}

void grammar::add_break() {
    CLI::App& app = *app_.add_subcommand("break", help::break_lock)->fallthrough();
    app.footer(help::break_footer);
    add_lock_name(app, break_.lock);
    app.add_option("--why", break_.why, "The reason, for the record")
        ->required()
        ->type_name("TEXT");
    const auto token = [this](const std::string& text) { break_.token = parse_token(text); };
    app.add_option_function<std::string>("--token", token, "Break this grant and no other")
        ->type_name("N");
    app.add_option("--slot", break_.slot, "Break the grant of this permit and no other")
        ->type_name("N")
        ->check(CLI::Range(std::uint32_t{1}, lock_mode::capacity_max));
    break_command_ = &app;
}

void grammar::add_watch() {
    CLI::App& watch = *app_.add_subcommand("watch", help::watch)->fallthrough();
    watch.footer(help::watch_footer);
    watch.add_option("PREFIX", watch_.prefix, "Only locks whose name begins so")->type_name("");
    watch_command_ = &watch;
}

void grammar::add_doctor() {
    CLI::App& doctor = *app_.add_subcommand("doctor", help::doctor)->fallthrough();
    doctor.footer(help::doctor_footer);
    doctor.add_flag("--create", doctor_.create, "Make the store if there is none");
    doctor_command_ = &doctor;
}

void grammar::add_txn() {
    CLI::App& txn = *app_.add_subcommand("txn", help::transactions)->fallthrough();
    txn.footer(help::transactions_footer);
    txn.require_subcommand(1);
    txn.add_option("--log", txn_.log, "The log of the coordinator")
        ->required()
        ->envname("MORTISE_TXN_LOG")
        ->type_name("FILE");
    CLI::App& ls = *txn.add_subcommand("ls", help::txn_ls)->fallthrough();
    const auto add_filter = [&](const char* name, const char* what, txn::list_filter filter) {
        return ls.add_flag_callback(
            name, [this, filter] { txn_.filter = filter; }, what
        );
    };
    CLI::Option* all = add_filter("--all", "Also those that have ended", txn::list_filter::all);
    CLI::Option* stuck =
        add_filter("--stuck", "Only those that wait for people", txn::list_filter::stuck);
    add_filter("--unfinished", "All that have not ended; the default", txn::list_filter::unfinished)
        ->excludes(all)
        ->excludes(stuck);
    stuck->excludes(all);
    CLI::App& show = *txn.add_subcommand("show", help::txn_show)->fallthrough();
    show.callback([this] { txn_.what = txn_settings::kind::show; });
    show.add_option("GID", txn_.transaction, "The transaction, or its number")->required();
    add_txn_orders(txn);
    CLI::App& adopt = *txn.add_subcommand("adopt", help::txn_adopt)->fallthrough();
    adopt.callback([this] { txn_.what = txn_settings::kind::adopt; });
    txn_command_ = &txn;
}

void grammar::add_txn_orders(CLI::App& txn) {
    const auto add = [&](const char* name, const char* what, txn_settings::kind kind) {
        CLI::App& app = *txn.add_subcommand(name, what)->fallthrough();
        app.callback([this, kind] { txn_.what = kind; });
        app.add_option("GID", txn_.transaction, "The transaction, or its number")->required();
        app.add_option("--why", txn_.why, "The reason, for the record")
            ->required()
            ->type_name("TEXT");
        add_duration(app, "--wait", txn_.wait, "How long to wait for a coordinator; default: 5s");
        return app.add_option("--branch", txn_.branch, "This branch and no other; see `show`")
            ->type_name("N")
            ->check(CLI::Range(txn::branch_number{1}, txn::branch_number{1'024}));
    };
    add("retry", help::txn_retry, txn_settings::kind::retry);
    add("skip", help::txn_skip, txn_settings::kind::skip)->required();
    add("force", help::txn_force, txn_settings::kind::force);
}

void grammar::add_contend_options(CLI::App& app, bench_settings& bench) {
    app.add_option("--tasks", bench.tasks, "Workers in each process; default: 8")
        ->check(CLI::Range(1, 1'000));
    app.add_option("--acquisitions", bench.acquisitions, "How often in all; default: 2000")
        ->check(CLI::Range(1, 10'000'000));
    add_duration(app, "--hold", bench.hold, "How long the lock is held; default: 2ms");
    add_duration(app, "--think", bench.think, "How long a worker rests; default: 50ms");
    app.add_flag_callback(
        "--no-local",
        [&bench] { bench.local_handoff = false; },
        "Every grant goes back to the store, also if a worker of the same process waits"
    );
}

void grammar::add_tcc_options(CLI::App& app) {
    app.footer(help::tcc_footer);
    app.add_option("--transactions", bench_.transactions, "So many, instead of for some time")
        ->check(CLI::Range(1, 100'000'000));
    app.add_option("--dir", bench_.folder, "The folder for its files; default: the current one")
        ->type_name("PATH");
    app.add_option("--recovery", bench_.recovery, "Also so many that a process left unfinished")
        ->check(CLI::Range(2, 10'000'000));
    app.add_option("--handover", bench_.handover, "Also a stop with so many under way")
        ->check(CLI::Range(1, 1'000'000));
    app.add_option("--backlog", bench_.backlog, "Also beside so many that wait for a participant")
        ->check(CLI::Range(1, 1'000'000));
}

void grammar::add_relay_options(CLI::App& app) {
    app.footer(help::relay_footer);
    app.add_option("--kafka", bench_.kafka, "Some of its brokers")
        ->type_name("HOST:PORT,...")
        ->required();
    app.add_option("--rows", bench_.rows, "How many are sent; default: 200000")
        ->check(CLI::Range(1'000, 100'000'000));
    app.add_option("--size", bench_.size, "Bytes of payload in each; default: 200")
        ->check(CLI::Range(1, 500'000));
    app.add_option("--dir", bench_.folder, "The folder for its files; default: the current one")
        ->type_name("PATH");
}

void grammar::add_bench() {
    CLI::App& bench = *app_.add_subcommand("bench", help::bench)->fallthrough();
    bench.footer(help::bench_footer);
    bench.require_subcommand(1);
    const auto add = [&](const char* name, const char* what, bench_kind kind) -> CLI::App& {
        CLI::App& app = *bench.add_subcommand(name, what)->fallthrough();
        app.callback([this, kind] { bench_.what = kind; });
        return app;
    };
    const auto add_processes = [&](CLI::App& app, int least, unsigned usual) {
        const std::string what = "How many processes; default: " + std::to_string(usual);
        CLI::Option* option = app.add_option("--processes", bench_.processes, what);
        option->check(CLI::Range(least, 256));
        app.parse_complete_callback([this, option, usual] {
            if (option->empty())
                bench_.processes = usual;
        });
    };
    const auto add_seconds = [&](CLI::App& app) {
        app.add_option("--seconds", bench_.seconds, "How long to measure; default: 3")
            ->check(CLI::Range(1, 3'600));
    };
    CLI::App& handoff = add("handoff", help::handoff, bench_kind::handoff);
    add_processes(handoff, 2, 2);
    add_seconds(handoff);
    CLI::App& contend = add("contend", help::contend, bench_kind::contend);
    add_processes(contend, 1, 8);
    add_contend_options(contend, bench_);
    contend.add_flag("--greedy", greedy_, "Workers do not rest: the same as --think 0");
    add_seconds(add("uncontended", help::uncontended, bench_kind::uncontended));
    CLI::App& local = add("local", help::local, bench_kind::local);
    local.add_option("--tasks", bench_.tasks, "Coroutines; default: 8")
        ->check(CLI::Range(1, 10'000));
    add_seconds(local);
    CLI::App& waiters = add("waiters", help::waiters, bench_kind::waiters);
    waiters.add_option("--n", bench_.waiters, "How many; default: 100000")
        ->check(CLI::Range(1, 10'000'000));
    CLI::App& idle = add("idle", help::idle, bench_kind::idle);
    idle.add_option("--locks", bench_.locks, "How many; default: 10000")
        ->check(CLI::Range(1, 10'000'000));
    add_seconds(idle);
    add_seconds(add("linger", help::linger, bench_kind::linger));
    CLI::App& takeover = add("takeover", help::takeover, bench_kind::takeover);
    takeover.add_option("--kills", bench_.kills, "How many holders are killed; default: 10")
        ->check(CLI::Range(1, 10'000));
    add_duration(takeover, "--ttl", bench_.ttl, "The TTL of the holders; default: 1s");
    const auto add_flight = [&](CLI::App& app) {
        app.add_option("--in-flight", bench_.in_flight, "Transactions at a time; default: 64")
            ->check(CLI::Range(1, 100'000));
    };
    CLI::App& tcc = add("tcc", help::tcc, bench_kind::tcc);
    add_flight(tcc);
    add_seconds(tcc);
    add_tcc_options(tcc);
    CLI::App& txn = add("txn", help::txn, bench_kind::txn);
    txn.footer(help::txn_footer);
    add_flight(txn);
    add_seconds(txn);
    CLI::App& relay = add("relay", help::relay, bench_kind::relay);
    add_seconds(relay);
    add_relay_options(relay);
    bench_command_ = &bench;
}

void grammar::add_bench_worker() {
    CLI::App& app = *app_.add_subcommand("bench-worker", "Used by bench")->fallthrough();
    app.group("");  // not in --help: only `bench` itself calls it
    app.add_flag_callback("--contend", [this] { worker_.bench.what = bench_kind::contend; });
    app.add_flag_callback("--linger", [this] { worker_.bench.what = bench_kind::linger; });
    app.add_flag_callback("--takeover", [this] { worker_.bench.what = bench_kind::takeover; });
    add_contend_options(app, worker_.bench);
    add_duration(app, "--ttl", worker_.bench.ttl, "");
    app.add_option("--lock", worker_.lock);
    app.add_option("--index", worker_.index);
    app.add_option("--board", worker_.board);
    app.add_option("--ready", worker_.ready);
    app.add_option("--go", worker_.go);
    app.add_option("--peer", worker_.peer);
    worker_command_ = &app;
}

const break_settings& grammar::wanted_break() const {
    if (break_.why.find_first_not_of(" \t\r\n") == std::string::npos) {
        throw failure(
            exit_code::usage,
            "the reason is empty",
            "--why",
            "say why this lock is broken: it is recorded for those who look later"
        );
    }
    return break_;
}

const txn_settings& grammar::wanted_txn() const {
    const bool orders = txn_.what == txn_settings::kind::retry ||
                        txn_.what == txn_settings::kind::skip ||
                        txn_.what == txn_settings::kind::force;
    if (orders && txn_.why.find_first_not_of(" \t\r\n") == std::string::npos) {
        throw failure(
            exit_code::usage,
            "the reason is empty",
            "--why",
            "say why this is done: it is recorded for those who look later"
        );
    }
    return txn_;
}

command_line::order grammar::wanted() {
    if (version_)
        return version_wanted();
    if (run_command_->parsed()) {
        if (run_.command.empty())
            throw failure(
                exit_code::usage,
                "there is no command to run",
                {},
                "write it after `--`: mortise run --lock NAME -- COMMAND"
            );
        return run_;
    }
    if (ls_command_->parsed())
        return ls_;
    if (show_command_->parsed())
        return show_;
    if (break_command_->parsed())
        return wanted_break();
    if (watch_command_->parsed())
        return watch_;
    if (doctor_command_->parsed())
        return doctor_;
    if (txn_command_->parsed())
        return wanted_txn();
    if (outbox_command_->parsed())
        return checked(outbox_);
    if (inbox_command_->parsed())
        return checked(inbox_);
    if (worker_command_->parsed())
        return worker_;
    if (!bench_command_->parsed())
        return help_wanted{app_.help()};
    if (greedy_)
        bench_.think = milliseconds(0);
    return bench_;
}

command_line grammar::parse(std::vector<std::string> before, std::vector<std::string> after) {
    run_.command = std::move(after);
    std::reverse(before.begin(), before.end());  // CLI11 takes them from the back
    try {
        app_.parse(std::move(before));
    } catch (const CLI::CallForHelp&) {
        return {global_, help_wanted{app_.help()}};
    } catch (const CLI::ParseError& e) {
        throw failure(exit_code::usage, e.what(), {}, "`mortise --help` shows what can be said");
    }
    if (!run_.command.empty() && !run_command_->parsed())
        throw failure(exit_code::usage, "only `mortise run` takes a command after `--`");
    return {global_, wanted()};
}

std::vector<std::string>::const_iterator command_mark(const std::vector<std::string>& arguments) {
    return std::find(arguments.begin(), arguments.end(), "--");
}

}  // namespace

command_line parse_command_line(const std::vector<std::string>& arguments) {
    // What follows `--` belongs to another program: do not let CLI11 see it.
    const auto mark = command_mark(arguments);
    std::vector<std::string> after;
    if (mark != arguments.end())
        after.assign(mark + 1, arguments.end());
    return grammar().parse({arguments.begin(), mark}, std::move(after));
}

bool wants_json(const std::vector<std::string>& arguments) {
    const auto mark = command_mark(arguments);
    return std::find(arguments.begin(), mark, "--json") != mark;
}

}  // namespace mortise::tool
