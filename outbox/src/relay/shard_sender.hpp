// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_RELAY_SHARD_SENDER_HPP
#define MORTISE_OUTBOX_SRC_RELAY_SHARD_SENDER_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/outbox/sink.hpp"
#include "relay/shard_context.hpp"
#include "relay/shard_parking.hpp"
#include "table/rows.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::outbox::detail {

/// Sends the rows of a shard to its open sink, one batch after the other, and purges sent rows.
///
/// @par Threads   The relay's strand.
/// @par Lifetimes The context outlives the object.
class shard_sender {
public:
    explicit shard_sender(shard_context& shard);

    /// Begins to work for a sink that was just opened, after the mark in the context.
    void begin(const opening& opened);
    asio::awaitable<shard_end> send_all();
    /// Whether a batch is under way.
    bool publishing() const noexcept { return publishing_; }

    /// Whether the table does not have the newest mark, or has rows to purge.
    bool purge_wanted() const noexcept { return purge_wanted_; }
    void forget_purge() noexcept { purge_wanted_ = false; }
    /// Stores the mark and purges sent rows. @return whether the shard is still ours.
    asio::awaitable<bool> purge();

private:
    class pending_read;

    std::shared_ptr<pending_read> start_read(std::int64_t after);
    asio::awaitable<std::optional<shard_end>> send(table::batch& next);
    asio::awaitable<bool> bind_to_sink();
    asio::awaitable<published> publish(std::vector<outgoing>& rows, const mark& after);
    asio::awaitable<std::optional<shard_end>> be_idle(std::uint32_t newest_layout);
    asio::awaitable<std::optional<shard_end>> finish();
    asio::awaitable<std::optional<shard_end>> send_idle_mark();
    void resize_batches(published::kind outcome);
    void advance(const mark& to, std::size_t messages, std::string place);
    void tell_sent(std::size_t messages, clock::duration took);
    bool purge_due() const;

    shard_context& shard_;
    shard_parking parking_;
    std::string identity_;  ///< The open sink; in `known.sink` once the sink has something.
    bool bound_ = false;    ///< The table has stored `identity_`.
    std::uint32_t layout_seen_ = 0;
    std::size_t batch_rows_;    ///< The present limit; lower after a failure.
    std::size_t unpurged_ = 0;  ///< Sent since the last purge.
    bool purge_wanted_ = false;
    bool mark_unsaved_ = false;  ///< For a sink that keeps no marks.
    clock::time_point purge_at_;
    clock::time_point sent_at_;  ///< When the last mark was sent.
    bool publishing_ = false;
};

}  // namespace mortise::outbox::detail

#endif
