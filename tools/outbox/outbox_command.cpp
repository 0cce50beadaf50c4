// SPDX-License-Identifier: BSL-1.0
#include "outbox/outbox_command.hpp"

#include "common/await_main.hpp"
#include "common/exit_code.hpp"
#include "common/printable.hpp"
#include "common/time_text.hpp"
#include "mortise/outbox/error.hpp"
#include "mortise/outbox/operate.hpp"
#include "outbox/database_work.hpp"
#include "outbox/outbox_report.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace mortise::tool {
namespace {

using outbox_verb = outbox_settings::kind;

// Moving this many rows takes a fraction of a second, during which other writers wait.
constexpr std::size_t portion = 5'000;

/// The result of an order.
struct change {
    std::size_t messages = 0;  ///< Changed ones: sent now, sent later, or given up.
    std::vector<rebased_shard> rebased;
};

/// An operator's order, run in a transaction.
class outbox_order {
public:
    explicit outbox_order(const outbox_settings& settings) : settings_(settings) {}

    change operator()(db::connection& on) const {
        change result;
        const std::int64_t row = settings_.row.value_or(0);
        switch (settings_.verb) {
        case outbox_verb::replay:
            result.messages = settings_.all ? outbox::replay_some(on, portion)
                              : is_edited() ? outbox::replay(on, row, edited(on, row))
                                            : outbox::replay(on, row);
            break;
        case outbox_verb::discard:
            outbox::discard(on, row);
            result.messages = 1;
            break;
        case outbox_verb::cancel:
            result.messages = outbox::cancel(on, settings_.id);
            break;
        case outbox_verb::reschedule:
            result.messages = outbox::reschedule(on, settings_.id, wall_now() + settings_.due_in);
            break;
        case outbox_verb::drop:
            result.messages = outbox::drop(on, row);
            break;
        case outbox_verb::rebase:
            result.rebased = rebase(on);
            break;
        default:
            outbox::reshard(on, settings_.shards);
            break;
        }
        return result;
    }

private:
    bool is_edited() const {
        return settings_.topic || !settings_.payload_file.empty() || !settings_.headers.empty();
    }

    outbox::message edited(db::connection& on, std::int64_t row) const {
        auto found = outbox::find(on, row);
        if (!found || found->kind != outbox::row_kind::parked)
            throw boost::system::system_error(make_error_code(outbox::errc::no_such_row));
        outbox::message message = std::move(found->message);
        if (settings_.topic)
            message.topic = *settings_.topic;
        if (!settings_.payload_file.empty()) {
            std::ifstream file(settings_.payload_file, std::ios::binary);
            message.payload.emplace(
                std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()
            );
        }
        for (const auto& each : settings_.headers) {
            const auto end = each.find('=');
            const auto name = each.substr(0, end);
            std::erase_if(message.headers, [&](const outbox::header& had) {
                return had.name == name;
            });
            message.headers.emplace_back(name, each.substr(end + 1));
        }
        return message;
    }

    bool is_meant(const outbox::shard_view& shard) const {
        return settings_.all ? shard.refused.has_value() : shard.shard == settings_.shard;
    }

    std::vector<rebased_shard> rebase(db::connection& on) const {
        std::vector<rebased_shard> shards;
        for (auto& each : outbox::describe(on).shards) {
            if (is_meant(each))
                shards.push_back({std::move(each), {}});
        }
        for (const auto& each : shards)
            outbox::rebase(on, each.before.shard, *settings_.where);
        if (shards.empty()) {
            throw boost::system::system_error(make_error_code(
                settings_.all ? outbox::errc::nothing_refused : outbox::errc::no_such_row
            ));
        }
        std::size_t next = 0;
        for (auto& each : outbox::describe(on).shards) {
            if (next < shards.size() && shards[next].before.shard == each.shard)
                shards[next++].after = std::move(each);
        }
        return shards;
    }

    const outbox_settings& settings_;
};

/// Names what the order changed.
std::string subject_of(const outbox_settings& settings) {
    switch (settings.verb) {
    case outbox_verb::rebase:
        return settings.all ? "all shards" : "shard " + std::to_string(settings.shard.value_or(0));
    case outbox_verb::reshard:
        return std::to_string(settings.shards) + " shards";
    case outbox_verb::cancel:
    case outbox_verb::reschedule:
        return settings.id;
    default:
        return settings.all ? "all rows" : "row " + std::to_string(settings.row.value_or(0));
    }
}

const char* order_text(outbox_verb verb) {
    switch (verb) {
    case outbox_verb::replay:
        return "replay";
    case outbox_verb::drop:
        return "drop";
    case outbox_verb::discard:
        return "discard";
    case outbox_verb::cancel:
        return "cancel";
    case outbox_verb::reschedule:
        return "reschedule";
    case outbox_verb::rebase:
        return "rebase";
    default:
        return "reshard";
    }
}

void tell_as_json(std::ostream& out, const outbox_settings& settings, const change& result) {
    json::object fields;
    fields["order"] = order_text(settings.verb);
    if (settings.row)
        fields["row"] = *settings.row;
    if (!settings.id.empty())
        set_bytes(fields, "id", settings.id);
    if (settings.verb == outbox_verb::rebase)
        fields["shards"] = rebased_json(result.rebased);
    else if (settings.verb == outbox_verb::reshard)
        fields["shards"] = settings.shards;
    else
        fields["messages"] = result.messages;
    out << json::serialize(fields) << '\n';
}

void tell(std::ostream& out, const outbox_settings& settings, const change& result) {
    if (settings.verb == outbox_verb::rebase)
        return write_rebased(out, result.rebased);
    out << order_text(settings.verb) << ' ' << printable(subject_of(settings)) << ": ";
    const char* const messages = result.messages == 1 ? " message" : " messages";
    if (settings.verb == outbox_verb::discard)
        out << "given up, unless a relay has read it already\n";
    else if (settings.verb == outbox_verb::cancel)
        out << result.messages << messages << " taken back\n";
    else if (settings.verb == outbox_verb::reschedule)
        out << result.messages << messages << " due in " << duration_text(settings.due_in) << '\n';
    else if (settings.verb == outbox_verb::reshard)
        out << "from now on; what was appended before is sent first\n";
    else
        out << (settings.verb == outbox_verb::drop ? "given up, " : "") << result.messages
            << (result.messages == 1 ? " message is" : " messages are") << " to be sent\n";
}

}  // namespace

asio::awaitable<int>
mend_outbox(const global_settings& global, const outbox_settings& settings, std::ostream& out) {
    change result;
    try {
        require_outbox(settings.database);
        const bool in_portions = settings.verb == outbox_verb::replay && settings.all;
        std::size_t messages = 0;
        do {
            auto doing = change_database(settings.database, outbox_order(settings));
            result = co_await std::move(doing);
            messages += result.messages;
        } while (in_portions && result.messages != 0);
        result.messages = messages;
    } catch (const boost::system::system_error& thrown) {
        throw database_failure(thrown, settings.database, subject_of(settings));
    }
    if (settings.verb == outbox_verb::replay && result.messages == 0)
        throw failure(exit_code::nothing_to_do, "nothing is parked", settings.database);
    const bool by_id =
        settings.verb == outbox_verb::cancel || settings.verb == outbox_verb::reschedule;
    if (by_id && result.messages == 0) {
        throw failure(
            exit_code::nothing_to_do,
            "no message with that id waits for its time: it became due, or never was",
            settings.id,
            "`mortise outbox later` shows those that do"
        );
    }
    if (global.json)
        tell_as_json(out, settings, result);
    else
        tell(out, settings, result);
    co_return exit_code::success;
}

int message_table(const global_settings& global, const outbox_settings& settings) {
    switch (settings.verb) {
    case outbox_verb::ls:
    case outbox_verb::show:
    case outbox_verb::parked:
    case outbox_verb::later:
        return look_at_outbox(global, settings, std::cout);
    case outbox_verb::relay:
        return relay_messages(global, settings, std::cout);
    default:
        break;
    }
    asio::io_context context(1);
    return await_main(context, mend_outbox(global, settings, std::cout));
}

}  // namespace mortise::tool
