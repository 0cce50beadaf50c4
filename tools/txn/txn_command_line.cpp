// SPDX-License-Identifier: BSL-1.0
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "common/grammar.hpp"
#include "help.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace mortise::tool {
namespace {

void add_orders(CLI::App& txn, txn_settings& target) {
    const auto add = [&](const char* name, const char* meaning, txn_settings::kind kind) {
        CLI::App& app = *txn.add_subcommand(name, meaning)->fallthrough();
        app.callback([&target, kind] { target.verb = kind; });
        app.add_option("GID", target.transaction, "The transaction, or its number")->required();
        app.add_option("--why", target.why, "The reason, for the record")
            ->required()
            ->type_name("TEXT");
        add_duration(app, "--wait", target.wait, "How long to wait for a coordinator; default: 5s");
        return app.add_option("--branch", target.branch, "This branch and no other; see `show`")
            ->type_name("N")
            ->check(CLI::Range(txn::branch_number{1}, txn::branch_number{1'024}));
    };
    add("retry", help::txn_retry, txn_settings::kind::retry);
    add("skip", help::txn_skip, txn_settings::kind::skip)->required();
    add("force", help::txn_force, txn_settings::kind::force);
}

}  // namespace

CLI::App& add_txn(CLI::App& app, txn_settings& target) {
    CLI::App& txn = *app.add_subcommand("txn", help::transactions)->fallthrough();
    txn.footer(help::transactions_footer);
    txn.require_subcommand(1);
    txn.add_option("--log", target.log, "The log of the coordinator")
        ->required()
        ->envname("MORTISE_TXN_LOG")
        ->type_name("FILE");
    CLI::App& ls = *txn.add_subcommand("ls", help::txn_ls)->fallthrough();
    const auto add_filter = [&](const char* name, const char* meaning, txn::list_filter filter) {
        return ls.add_flag_callback(
            name, [&target, filter] { target.filter = filter; }, meaning
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
    show.callback([&target] { target.verb = txn_settings::kind::show; });
    show.add_option("GID", target.transaction, "The transaction, or its number")->required();
    add_orders(txn, target);
    CLI::App& adopt = *txn.add_subcommand("adopt", help::txn_adopt)->fallthrough();
    adopt.callback([&target] { target.verb = txn_settings::kind::adopt; });
    CLI::App& orphans = *txn.add_subcommand("orphans", help::txn_orphans)->fallthrough();
    orphans.callback([&target] { target.verb = txn_settings::kind::orphans; });
    orphans.add_option("URL", target.databases, "The databases of the branches")->required();
    orphans.add_flag_callback(
        "--all",
        [&target] { target.filter = txn::list_filter::all; },
        "Also branches whose transactions are under way"
    );
    return txn;
}

const txn_settings& checked(const txn_settings& settings) {
    const bool orders = settings.verb == txn_settings::kind::retry ||
                        settings.verb == txn_settings::kind::skip ||
                        settings.verb == txn_settings::kind::force;
    if (orders && settings.why.find_first_not_of(" \t\r\n") == std::string::npos) {
        throw failure(
            exit_code::usage,
            "the reason is empty",
            "--why",
            "say why this is done: it is recorded for those who look later"
        );
    }
    return settings;
}

}  // namespace mortise::tool
