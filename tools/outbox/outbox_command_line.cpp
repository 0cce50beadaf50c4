// SPDX-License-Identifier: BSL-1.0
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "common/grammar.hpp"
#include "common/time_text.hpp"
#include "outbox/outbox_help.hpp"

#include <CLI/CLI.hpp>

#include <charconv>
#include <optional>
#include <string>
#include <system_error>

namespace mortise::tool {
namespace {

constexpr std::uint32_t shards_max = 256;

/// Parses a number. CLI11 would accept a negative number as a large one.
template <class Number>
Number
parse_number(const std::string& text, Number least, const char* problem, const char* remedy) {
    Number value = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end || value < least)
        throw failure(exit_code::usage, problem, "'" + text + "'", remedy);
    return value;
}

std::int64_t parse_row(const std::string& text, std::int64_t least) {
    return parse_number<std::int64_t>(
        text, least, "this is no number of a row", "`mortise outbox parked` shows them"
    );
}

CLI::Option* add_database(CLI::App& app, std::string& target, const char* variable) {
    return app.add_option("--db", target, "The database")
        ->required()
        ->envname(variable)
        ->type_name("FILE");
}

CLI::Option* add_row(CLI::App& app, std::optional<std::int64_t>& target) {
    const auto read = [&target](const std::string& text) { target = parse_row(text, 1); };
    return app.add_option_function<std::string>("ROW", read, "The number of the row")
        ->type_name("");
}

template <class Settings>
CLI::App& add_command(
    CLI::App& to,
    const char* name,
    const char* meaning,
    Settings& target,
    typename Settings::kind kind
) {
    CLI::App& app = *to.add_subcommand(name, meaning)->fallthrough();
    app.callback([&target, kind] { target.verb = kind; });
    return app;
}

void add_yes(CLI::App& to, bool& target) {
    to.add_flag("--yes", target, "It is really to be given up: nothing brings it back");
}

void add_id(CLI::App& to, std::string& target) {
    to.add_option("ID", target, "The id of the message")->required()->type_name("");
}

/// Adds `replay` and `drop`, which outbox and inbox both have.
template <class Settings>
CLI::App&
add_orders(CLI::App& to, Settings& target, const char* replay_help, const char* drop_help) {
    using kind = typename Settings::kind;
    CLI::App& replay = add_command(to, "replay", replay_help, target, kind::replay);
    CLI::Option* row = add_row(replay, target.row);
    replay.add_flag("--all", target.all, "All that is parked")->excludes(row);
    CLI::App& drop = add_command(to, "drop", drop_help, target, kind::drop);
    add_row(drop, target.row)->required();
    add_yes(drop, target.yes);
    return replay;
}

/// Adds the options that change a message before it is sent again.
void add_edits(CLI::App& replay, outbox_settings& target) {
    CLI::Option* all = replay.get_option("--all");
    replay.add_option("--topic", target.topic, "Send it to this topic instead")
        ->type_name("TOPIC")
        ->excludes(all);
    replay.add_option("--payload-file", target.payload_file, "With the bytes of that file")
        ->type_name("FILE")
        ->check(CLI::ExistingFile)
        ->excludes(all);
    replay.add_option("--header", target.headers, "With that header instead of those of its name")
        ->type_name("NAME=VALUE")
        ->excludes(all);
}

/// Adds the orders on messages that are not due or not sent yet.
void add_withdrawals(CLI::App& outbox, outbox_settings& target) {
    using kind = outbox_settings::kind;
    CLI::App& discard = add_command(outbox, "discard", help::outbox_discard, target, kind::discard);
    add_row(discard, target.row)->required();
    add_yes(discard, target.yes);
    CLI::App& cancel = add_command(outbox, "cancel", help::outbox_cancel, target, kind::cancel);
    add_id(cancel, target.id);
    add_yes(cancel, target.yes);
    CLI::App& reschedule =
        add_command(outbox, "reschedule", help::outbox_reschedule, target, kind::reschedule);
    add_id(reschedule, target.id);
    const auto read_due = [&target](const std::string& text) {
        target.due_in = parse_duration("--in", text);
    };
    reschedule.add_option_function<std::string>("--in", read_due, "How long from now; 0: at once")
        ->required()
        ->type_name("DURATION");
}

void add_rebase(CLI::App& outbox, outbox_settings& target) {
    CLI::App& rebase =
        add_command(outbox, "rebase", help::outbox_rebase, target, outbox_settings::kind::rebase);
    const auto read_shard = [&target](const std::string& text) {
        target.shard = parse_number<std::uint32_t>(
            text, 0, "this is no number of a shard", "`mortise outbox ls` shows them"
        );
    };
    CLI::Option* shard =
        rebase.add_option_function<std::string>("SHARD", read_shard, "The number of the shard")
            ->type_name("");
    rebase.add_flag("--all", target.all, "All shards that are refused")->excludes(shard);
    const auto read_after = [&target](const std::string& text) {
        target.where = outbox::position::after(parse_row(text, 0));
    };
    CLI::Option* after = rebase
                             .add_option_function<std::string>(
                                 "--after", read_after, "What is up to that row counts as sent"
                             )
                             ->type_name("ROW");
    CLI::Option* beginning = rebase.add_flag_callback(
        "--beginning",
        [&target] { target.where = outbox::position::beginning(); },
        "All that is in the table is sent again"
    );
    CLI::Option* end = rebase.add_flag_callback(
        "--end",
        [&target] { target.where = outbox::position::end(); },
        "All that is in the table counts as sent"
    );
    beginning->excludes(after)->excludes(end);
    end->excludes(after);
}

void add_relay(CLI::App& outbox, outbox_settings& target) {
    CLI::App& relay =
        add_command(outbox, "relay", help::outbox_relay, target, outbox_settings::kind::relay);
    CLI::Option* folder =
        relay.add_option("--to", target.folder, "The folder for the message files")
            ->type_name("FOLDER");
    const auto read_bytes = [&target](const std::string& text) {
        target.file_bytes =
            parse_number<std::uint64_t>(text, 1, "this is no length of a file", "say 1 or more");
    };
    CLI::Option* bytes =
        relay
            .add_option_function<std::string>(
                "--file-bytes", read_bytes, "Close a message file that is so long; default: never"
            )
            ->type_name("N")
            ->needs(folder);
    const auto read_kept = [&target](const std::string& text) {
        target.files_kept =
            parse_number<std::uint64_t>(text, 1, "this is no number of files", "say 1 or more");
    };
    relay
        .add_option_function<std::string>(
            "--files-kept", read_kept, "Keep so many closed files of each shard; default: all"
        )
        ->type_name("N")
        ->needs(bytes);
    CLI::Option* kafka =
        relay.add_option("--kafka", target.kafka.servers, "To Kafka: some of its brokers")
            ->type_name("HOST:PORT,...")
            ->excludes(folder);
    const auto add = [&](const char* name, auto& into, const char* meaning, const char* type) {
        return relay.add_option(name, into, meaning)
            ->type_name(type)
            ->needs(kafka)
            ->allow_extra_args(false);
    };
    add("--setting", target.kafka.settings, "By librdkafka's names; no secrets", "NAME=VALUE");
    add("--setting-env", target.kafka.variables, "Its value is in the environment", "NAME=VARIABLE"
    );
    add("--setting-file", target.kafka.file, "With a line NAME=VALUE for each", "FILE");
    add("--progress-topic", target.kafka.progress_topic, "Where the marks are", "TOPIC");
    add("--progress-partitions", target.kafka.progress_partitions, "How many it has", "N")
        ->check(CLI::Range(1, 100'000));
    add("--id-prefix", target.kafka.id_prefix, "Of the transactional ids", "TEXT");
    const auto read_wait = [&target](const std::string& text) {
        target.kafka.topic_wait = parse_duration("--topic-wait", text);
    };
    relay
        .add_option_function<std::string>(
            "--topic-wait", read_wait, "How long to wait for a topic that is missing; default: 5s"
        )
        ->type_name("DURATION")
        ->needs(kafka);
    relay.add_flag("--until-empty", target.until_empty, "End when everything is sent or parked");
}

template <class Settings>
void check_orders(const Settings& settings) {
    using kind = typename Settings::kind;
    if (settings.verb == kind::replay && !settings.row && !settings.all)
        refuse("it is not said what to replay", {}, "name a row, or say --all");
    if (settings.verb == kind::drop && !settings.yes) {
        refuse(
            "this gives a message up for ever",
            "row " + std::to_string(settings.row.value_or(0)),
            "if that is meant, say --yes"
        );
    }
}

}  // namespace

CLI::App& add_outbox(CLI::App& app, outbox_settings& target) {
    using kind = outbox_settings::kind;
    CLI::App& outbox = *app.add_subcommand("outbox", help::outbox)->fallthrough();
    outbox.footer(help::outbox_footer);
    outbox.require_subcommand(1);
    add_database(outbox, target.database, "MORTISE_OUTBOX_DB");
    CLI::App& ls = add_command(outbox, "ls", help::outbox_ls, target, kind::ls);
    CLI::Option* rows = ls.add_flag("--rows", target.rows, "Also each row that waits");
    const auto read_limit = [&target](const std::string& text) {
        target.rows_max =
            parse_number<std::size_t>(text, 1, "--limit is no number", "say 1 or more");
    };
    ls.add_option_function<std::string>("--limit", read_limit, "At most so many rows; default: all")
        ->type_name("N")
        ->needs(rows);
    CLI::App& show = add_command(outbox, "show", help::outbox_show, target, kind::show);
    add_row(show, target.row)->required();
    add_command(outbox, "parked", help::outbox_parked, target, kind::parked);
    add_command(outbox, "later", help::outbox_later, target, kind::later);
    add_edits(add_orders(outbox, target, help::outbox_replay, help::outbox_drop), target);
    add_withdrawals(outbox, target);
    add_rebase(outbox, target);
    CLI::App& reshard = add_command(outbox, "reshard", help::outbox_reshard, target, kind::reshard);
    reshard.add_option("N", target.shards, "How many shards")
        ->required()
        ->type_name("")
        ->check(CLI::Range(std::uint32_t{1}, shards_max));
    add_relay(outbox, target);
    return outbox;
}

CLI::App& add_inbox(CLI::App& app, inbox_settings& target) {
    using kind = inbox_settings::kind;
    CLI::App& inbox = *app.add_subcommand("inbox", help::inbox)->fallthrough();
    inbox.footer(help::inbox_footer);
    inbox.require_subcommand(1);
    add_database(inbox, target.database, "MORTISE_INBOX_DB");
    add_command(inbox, "ls", help::inbox_ls, target, kind::ls);
    CLI::App& parked = add_command(inbox, "parked", help::inbox_parked, target, kind::parked);
    parked.add_flag("--all", target.all, "Also what is tried again by itself");
    add_orders(inbox, target, help::inbox_replay, help::inbox_drop);
    CLI::App& move = add_command(inbox, "move", help::inbox_move, target, kind::move);
    move.add_option("SOURCE", target.source, "Of what, as `mortise inbox ls` has it")
        ->required()
        ->type_name("");
    const auto read_next = [&target](const std::string& text) {
        target.next = parse_number<std::int64_t>(
            text, 0, "this is no offset", "name the first that is new to the inbox, from zero on"
        );
    };
    move.add_option_function<std::string>("--to", read_next, "The first offset that is new to it")
        ->required()
        ->type_name("OFFSET");
    move.add_option("--inbox", target.inbox, "Which inbox of the database; default: inbox")
        ->type_name("NAME");
    return inbox;
}

const outbox_settings& checked(const outbox_settings& settings) {
    using kind = outbox_settings::kind;
    check_orders(settings);
    if ((settings.verb == kind::discard || settings.verb == kind::cancel) && !settings.yes) {
        refuse(
            "this gives a message up for ever",
            settings.row ? "row " + std::to_string(*settings.row) : settings.id,
            "if that is meant, say --yes"
        );
    }
    for (const auto& each : settings.headers) {
        if (each.find('=') == 0 || each.find('=') == std::string::npos)
            refuse("this is no header", each, "say NAME=VALUE");
    }
    if (settings.verb == outbox_settings::kind::rebase) {
        if (!settings.shard && !settings.all)
            refuse("it is not said which shard", {}, "name one, or say --all");
        if (!settings.where) {
            refuse(
                "it is not said where the shard goes on",
                {},
                "say --after ROW (up to there all counts as sent), --beginning (all is sent again) "
                "or --end (all counts as sent)"
            );
        }
    }
    if (settings.verb == outbox_settings::kind::relay && settings.folder.empty() &&
        settings.kafka.servers.empty()) {
        refuse(
            "it is not said where the messages go",
            {},
            "name a folder for message files (--to), or brokers (--kafka)"
        );
    }
    return settings;
}

const inbox_settings& checked(const inbox_settings& settings) {
    check_orders(settings);
    return settings;
}

}  // namespace mortise::tool
