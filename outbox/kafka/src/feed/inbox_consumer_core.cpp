// SPDX-License-Identifier: BSL-1.0
#include "feed/inbox_consumer_core.hpp"

#include "consumer/offset_note.hpp"
#include "feed/received_of.hpp"
#include "mortise/coro/detail/worker_job.hpp"
#include "mortise/kafka/error.hpp"
#include "mortise/outbox/error.hpp"
#include "settings.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/error.hpp>

#include <chrono>
#include <tuple>
#include <utility>

namespace mortise::kafka::detail {
namespace {

std::shared_ptr<outbox::inbox> checked(std::shared_ptr<outbox::inbox> to) {
    if (to == nullptr || to->by() == outbox::inbox_config::kind::ids)
        refuse_setting("inbox", "give it one by offsets: it is read from where that is");
    return to;
}

std::chrono::milliseconds checked(std::chrono::milliseconds tell_after) {
    using std::chrono::milliseconds;
    if (tell_after < milliseconds(1) || tell_after > std::chrono::hours(24))
        refuse_setting("tell_group_after", "use one millisecond to one day");
    return tell_after;
}

std::string checked(std::string id_header) {
    if (id_header.size() > 255)
        refuse_setting("id_header", "use at most 255 bytes");
    return id_header;
}

}  // namespace

inbox_consumer_core::inbox_consumer_core(
    asio::any_io_executor executor,
    std::shared_ptr<outbox::inbox> to,
    const inbox_consumer_config& config
)
    : group_consumer(std::move(executor), config, checked(config.tell_group_after)),
      inbox_(checked(std::move(to))),
      adopt_group_(config.adopt_group),
      id_header_(checked(config.id_header)) {}

asio::awaitable<error_code>
inbox_consumer_core::find(std::vector<start_offset>& starts, std::string&) {
    auto identifying = identify();
    if (const error_code wrong = co_await std::move(identifying))
        co_return wrong;
    if (owner().empty()) {
        auto naming = inbox_->async_identity(asio::as_tuple(asio::deferred));
        auto named = co_await std::move(naming);
        if (const error_code wrong = std::get<0>(named))
            co_return wrong;
        set_owner(std::move(std::get<1>(named)));
    }
    auto grouping = ask_group(starts);
    if (const error_code wrong = co_await std::move(grouping))
        co_return wrong;
    auto asking = inbox_->async_positions(asio::as_tuple(asio::deferred));
    const auto found = co_await std::move(asking);
    const auto& [unread, positions] = found;
    for (start_offset& each : starts) {
        const auto position = positions.find(source_of(cluster_id(), each.of));
        if (position != positions.end())
            each.wanted = position->second;
    }
    co_return unread;
}

// Bars partitions that another database has handled: this inbox would repeat their effects.
asio::awaitable<error_code> inbox_consumer_core::ask_group(std::vector<start_offset>& starts) {
    std::vector<topic_partition> asked;
    for (const start_offset& each : starts)
        asked.push_back(each.of);
    if (asked.empty())
        co_return error_code();
    auto look = [from = member(), asked = std::move(asked)] { return from->committed(asked); };
    auto looking = thread().async_run(std::move(look), asio::as_tuple(asio::deferred));
    auto found = co_await std::move(looking);
    if (const error_code wrong = std::get<0>(found))
        co_return wrong;
    starts = std::move(std::get<1>(found));
    for (start_offset& each : starts) {
        each.wanted.reset();  // The inbox knows it.
        const std::string before = offset_note::parse(each.note).owner;
        each.announce = before != owner();
        if (before.empty() || before == owner() || adopt_group_)
            continue;
        each.barred = true;
        each.fault = make_error_code(errc::foreign_inbox);
        each.text = "the group was told of it by the inbox " + before + ", this one is " + owner();
    }
    co_return error_code();
}

void inbox_consumer_core::work(const records& batch) {
    std::vector<outbox::received> messages;
    messages.reserve(batch.size());
    for (const consumed_record& each : batch)
        messages.push_back(received_of(source_of(cluster_id(), each.from), id_header_, each));
    auto then = [this, self = shared_from_this()](error_code wrong) {
        if (wrong)
            work_failed(wrong, "the inbox");
        else
            worked();
    };
    inbox_->async_receive(std::move(messages), asio::bind_executor(strand(), std::move(then)));
}

// A stopped inbox takes nothing any longer, nor does one whose session is poisoned or stopped.
bool inbox_consumer_core::is_final(error_code code) const {
    return code == outbox::errc::stopped || code == mortise::errc::poisoned ||
           code == asio::error::operation_aborted;
}

}  // namespace mortise::kafka::detail
