// SPDX-License-Identifier: BSL-1.0
#include "txn/txn_command.hpp"

#include "common/await_main.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "common/time_text.hpp"
#include "mortise/txn/log_reader.hpp"
#include "mortise/txn/old_log.hpp"
#include "mortise/txn/operator_order.hpp"

#include <boost/asio/io_context.hpp>

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <iostream>
#include <optional>
#include <utility>

namespace mortise::tool {
namespace {

using txn_verb = txn_settings::kind;

constexpr std::size_t transaction_page = 1'000;

/// Finds a transaction by its gid, or by only its number.
txn::gid which_of(const txn::log_reader& log, const std::string& text) {
    if (const auto found = txn::gid::parse(text))
        return *found;
    txn::gid gid;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, gid.number);
    if (read.ec != std::errc() || read.ptr != end || gid.number == 0) {
        throw failure(
            exit_code::usage,
            "this is no transaction",
            "'" + text + "'",
            "`mortise txn ls --all` shows them"
        );
    }
    gid.log = log.id();
    return gid;
}

txn::transaction_view shown(const txn::log_reader& log, const txn_settings& settings) {
    const auto gid = which_of(log, settings.transaction);
    if (auto found = log.show(gid))
        return std::move(*found);
    const bool forgotten = log.standing_of(gid) == txn::standing::forgotten;
    throw failure(
        exit_code::nothing_to_do,
        forgotten ? "this transaction has ended, and nothing else is known of it any more"
                  : "there was no such transaction",
        gid.text(),
        forgotten ? "" : "`mortise txn ls --all` shows what there is"
    );
}

void list(
    const txn::log_reader& log,
    const global_settings& global,
    const txn_settings& settings,
    std::ostream& out
) {
    std::vector<txn::transaction_view> all;
    std::uint64_t after = 0;
    for (;;) {
        auto found = log.list(settings.filter, after, transaction_page);
        const bool last = found.size() < transaction_page;
        if (!found.empty())
            after = found.back().gid.number;
        std::move(found.begin(), found.end(), std::back_inserter(all));
        if (last)
            break;
    }
    if (!global.json)
        return write_transactions(out, all);
    json::object fields;
    set_bytes(fields, "log", settings.log);
    json::array each;
    for (const auto& transaction : all)
        each.push_back(transaction_json(transaction));
    fields["transactions"] = std::move(each);
    out << json::serialize(fields) << '\n';
}

/// The operator's name for the record of the order: user@host.
std::string who_orders() {
    const ::passwd* user = ::getpwuid(::geteuid());
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0)
        host[0] = '?';
    return (user == nullptr ? std::to_string(::geteuid()) : std::string(user->pw_name)) + '@' +
           host.data();
}

txn::intervention::kind order_of(txn_verb verb) {
    return verb == txn_verb::skip    ? txn::intervention::kind::skip
           : verb == txn_verb::force ? txn::intervention::kind::force
                                     : txn::intervention::kind::retry;
}

void tell(
    std::ostream& out,
    const global_settings& global,
    const txn::intervention& intervention,
    const char* answer
) {
    const char* const order = txn::to_string(intervention.type);
    if (global.json) {
        json::object fields;
        fields["gid"] = intervention.gid.text();
        fields["order"] = order;
        fields["branch"] = intervention.branch;
        fields["came"] = answer;
        out << json::serialize(fields) << '\n';
        return;
    }
    out << order << ' ' << intervention.gid.text();
    if (intervention.branch != 0)
        out << ", branch " << intervention.branch;
    out << ": " << answer << '\n';
}

}  // namespace

txn::log_reader opened_log(const txn_settings& settings) {
    try {
        return txn::log_reader(settings.log);
    } catch (const error& failed) {
        throw failure(
            exit_code::unavailable,
            failed.code().message(),
            settings.log,
            "name the log of a coordinator by --log"
        );
    }
}

int look_at_transactions(
    const global_settings& global, const txn_settings& settings, std::ostream& out
) {
    const txn::log_reader log = opened_log(settings);
    if (settings.verb == txn_verb::ls) {
        list(log, global, settings, out);
        return exit_code::success;
    }
    const auto found = shown(log, settings);
    if (global.json)
        out << json::serialize(transaction_json(found)) << '\n';
    else
        write_transaction(out, found);
    return exit_code::success;
}

asio::awaitable<int>
intervene(const global_settings& global, const txn_settings& settings, std::ostream& out) {
    txn::intervention intervention;
    {
        const txn::log_reader log = opened_log(settings);
        const auto found = shown(log, settings);
        if (settings.branch > found.branches.size() && found.readable) {
            throw failure(
                exit_code::usage,
                "there is no such branch",
                std::to_string(settings.branch),
                "`mortise txn show` shows them"
            );
        }
        intervention.gid = found.gid;
    }
    intervention.type = order_of(settings.verb);
    intervention.branch = settings.branch;
    intervention.who = who_orders();
    intervention.why = settings.why;
    const auto code = co_await txn::leave_operator_order(settings.log, intervention, settings.wait);
    if (!code) {
        throw failure(
            exit_code::no_answer,
            "no coordinator has done it by now",
            intervention.gid.text(),
            "the order stays in the log: the next coordinator to work on it does it"
        );
    }
    if (*code)
        throw failure(exit_code::nothing_to_do, code->message(), intervention.gid.text());
    tell(out, global, intervention, "done");
    co_return exit_code::success;
}

static int adopt(const global_settings& global, const txn_settings& settings, std::ostream& out) {
    try {
        txn::adopt_old_log(settings.log);
    } catch (const error& failed) {
        throw failure(
            exit_code::unavailable,
            failed.code().message(),
            settings.log,
            "name the log of a coordinator by --log"
        );
    }
    if (global.json) {
        json::object fields;
        set_bytes(fields, "log", settings.log);
        fields["came"] = "adopted";
        out << json::serialize(fields) << '\n';
    } else {
        out << settings.log << ": adopted, its numbers go on above those that were given since\n";
    }
    return exit_code::success;
}

int transactions(const global_settings& global, const txn_settings& settings) {
    if (settings.verb == txn_verb::ls || settings.verb == txn_verb::show)
        return look_at_transactions(global, settings, std::cout);
    if (settings.verb == txn_verb::adopt)
        return adopt(global, settings, std::cout);
    asio::io_context context(1);
    if (settings.verb == txn_verb::orphans)
        return await_main(context, list_orphans(global, settings, std::cout));
    return await_main(context, intervene(global, settings, std::cout));
}

}  // namespace mortise::tool
