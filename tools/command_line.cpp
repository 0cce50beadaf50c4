// SPDX-License-Identifier: BSL-1.0
#include "command_line.hpp"

#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "common/grammar.hpp"
#include "common/time_text.hpp"
#include "help.hpp"

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
    void add_init();
    command_line::order wanted();
    const break_settings& wanted_break() const;

    CLI::App app_{help::summary, "mortise"};
    CLI::App* run_command_ = nullptr;
    CLI::App* ls_command_ = nullptr;
    CLI::App* show_command_ = nullptr;
    CLI::App* break_command_ = nullptr;
    CLI::App* watch_command_ = nullptr;
    CLI::App* doctor_command_ = nullptr;
    CLI::App* init_command_ = nullptr;
    CLI::App* txn_command_ = nullptr;
    CLI::App* outbox_command_ = nullptr;
    CLI::App* inbox_command_ = nullptr;
    CLI::App* bench_command_ = nullptr;
    CLI::App* worker_command_ = nullptr;
    bool version_ = false;
    global_settings global_;
    run_settings run_;
    ls_settings ls_;
    show_settings show_;
    break_settings break_;
    watch_settings watch_;
    doctor_settings doctor_;
    init_settings init_;
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
    add_init();
    txn_command_ = &add_txn(app_, txn_);
    outbox_command_ = &add_outbox(app_, outbox_);
    inbox_command_ = &add_inbox(app_, inbox_);
    bench_command_ = &add_bench(app_, bench_);
    worker_command_ = &add_bench_worker(app_, worker_);
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

void grammar::add_init() {
    CLI::App& init = *app_.add_subcommand("init", help::init)->fallthrough();
    init.footer(help::init_footer);
    init.add_flag("--print", init_.print, "Print the SQL for an administrator, and do nothing");
    init_command_ = &init;
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
    if (init_command_->parsed())
        return init_;
    if (txn_command_->parsed())
        return checked(txn_);
    if (outbox_command_->parsed())
        return checked(outbox_);
    if (inbox_command_->parsed())
        return checked(inbox_);
    if (worker_command_->parsed())
        return worker_;
    if (!bench_command_->parsed())
        return help_wanted{app_.help()};
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

CLI::Option* add_duration(
    CLI::App& app, const std::string& name, milliseconds& target, const std::string& meaning
) {
    const auto read = [name, &target](const std::string& text) {
        target = parse_duration(name, text);
    };
    return app.add_option_function<std::string>(name, read, meaning)->type_name("DURATION");
}

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
