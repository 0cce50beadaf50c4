// SPDX-License-Identifier: BSL-1.0
#include "mortise/kafka/inbox_consumer.hpp"

#include "consumer/group_consumer.hpp"
#include "consumer/group_offset.hpp"
#include "mortise/coro/assert.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/detail/worker_job.hpp"
#include "mortise/kafka/error.hpp"
#include "mortise/kafka/inbox_consumer_config.hpp"
#include "mortise/outbox/error.hpp"
#include "mortise/outbox/inbox.hpp"
#include "mortise/outbox/received.hpp"
#include "settings.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/error.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace mortise::kafka {
namespace detail {
namespace {

using coro::detail::with_code;
constexpr std::size_t id_max = 255;

// Makes an id from the place. A long one loses its beginning: its end distinguishes records.
std::string own_id(const consumed_record& record) {
    const std::string id = record.from.topic + "/" + std::to_string(record.from.partition) + "/" +
                           std::to_string(record.offset);
    return id.size() <= id_max ? id : id.substr(id.size() - id_max);
}

// The name of a partition in an inbox.
std::string source_of(const std::string& cluster, const topic_partition& partition) {
    return cluster + "/" + partition.topic + "/" + std::to_string(partition.partition);
}

// Turns a record of an outbox's sink back into its message. A record of another producer gets an
// id made from its place, and a null header value becomes empty. Looks for the id in the last
// header only: the sink adds it behind all headers of the user.
outbox::received
received_of(const std::string& source, const std::string& id_header, consumed_record record) {
    outbox::received result;
    result.source = source;
    result.offset = record.offset;
    outbox::message& into = result.message;
    if (!id_header.empty() && !record.headers.empty() && record.headers.back().name == id_header) {
        std::string id = std::move(record.headers.back().value).value_or("");
        if (!id.empty() && id.size() <= id_max)
            into.id = std::move(id);
        record.headers.pop_back();
    }
    if (into.id.empty()) {
        into.id = own_id(record);
        result.id_is_place = true;
    }
    into.topic = std::move(record.from.topic);
    into.key = std::move(record.key);
    into.payload = std::move(record.value);
    into.headers.reserve(record.headers.size());
    for (record_header& each : record.headers)
        into.headers.emplace_back(std::move(each.name), std::move(each.value).value_or(""));
    return result;
}

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

/// A consumer that delivers to an inbox.
class inbox_consumer_core final : public group_consumer {
public:
    inbox_consumer_core(
        asio::any_io_executor executor,
        std::shared_ptr<outbox::inbox> to,
        const inbox_consumer_config& config
    );

private:
    asio::awaitable<error_code> find(std::vector<start_offset>& starts, std::string& why) override;
    void work(const records& batch) override;
    bool is_final(error_code code) const override;
    asio::awaitable<error_code> ask_group(std::vector<start_offset>& starts);

    const std::shared_ptr<outbox::inbox> inbox_;
    const bool adopt_group_;
    const std::string id_header_;
};

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
    if (const error_code wrong = co_await identify())
        co_return wrong;
    if (owner().empty()) {
        auto named = co_await inbox_->async_identity(with_code);
        if (const error_code wrong = std::get<0>(named))
            co_return wrong;
        set_owner(std::move(std::get<1>(named)));
    }
    if (const error_code wrong = co_await ask_group(starts))
        co_return wrong;
    const auto found = co_await inbox_->async_positions(with_code);
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
    auto found = co_await thread().async_run(std::move(look), with_code);
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

}  // namespace detail

inbox_consumer::inbox_consumer(
    executor_type executor, std::shared_ptr<outbox::inbox> to, const inbox_consumer_config& config
)
    : core_(
          std::make_shared<detail::inbox_consumer_core>(std::move(executor), std::move(to), config)
      ) {
    core_->attach();
}

inbox_consumer::~inbox_consumer() {
    if (core_)
        core_->close();
}

inbox_consumer::inbox_consumer(inbox_consumer&&) noexcept = default;

inbox_consumer& inbox_consumer::operator=(inbox_consumer&& other) noexcept {
    if (const auto before = std::exchange(core_, std::move(other.core_)))
        before->close();
    return *this;
}

inbox_consumer::executor_type inbox_consumer::get_executor() const noexcept {
    MORTISE_ASSERT(core_);
    return core_->executor();
}

}  // namespace mortise::kafka
