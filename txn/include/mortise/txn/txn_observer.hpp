// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_TXN_OBSERVER_HPP
#define MORTISE_TXN_TXN_OBSERVER_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/error.hpp"
#include "mortise/txn/branch.hpp"
#include "mortise/txn/gid.hpp"
#include "mortise/txn/outcome.hpp"

#include <cstdint>
#include <string_view>

namespace mortise::txn {

/// An event of a coordinator or of one of its transactions.
struct txn_event {
    enum class kind : std::uint8_t {
        begun,     ///< A transaction has begun, and is durable.
        taken_up,  ///< An unfinished transaction was found in the log, and goes on here.
        decided,   ///< It was decided: see `at`. `code`: why it is cancelled; `took`: since begun.
        ended,     ///< Every branch is finished; `took`: since it began or was taken up.
        let_go,    ///< It is left to another or a later coordinator, because of `code`.
        stuck,     ///< The participant of a branch refuses to finish it: an operator has to look.
        ahead,     ///< The participant of a branch has seen something that the log does not know.

        participant_broken,     ///< It does not answer (`code`), and is rarely called.
        participant_recovered,  ///< It answers again.

        partition_gained,  ///< This coordinator works on the partition from now on.
        partition_lost,    ///< It no longer does, because of `code`.

        /// A branch has been prepared at its database for `took`, longer than it should.
        prepared_long,
        list_failed,   ///< A participant does not list what is prepared, because of `code`.
        orphan_ended,  ///< A prepared branch, which no transaction needs, was rolled back.
        /// A prepared branch needs people: by the log it was confirmed and has ended. `took`: how
        /// long it has been prepared.
        orphan_left,

        log_opened,
        log_failed,  ///< Nothing can be written, because of `code`; the log is opened anew.
    };

    kind type = kind::begun;
    txn::gid gid{};                  ///< Empty if the event concerns no transaction.
    branch_number branch = 0;        ///< Zero if it concerns no branch.
    std::string_view participant{};  ///< Empty if it concerns none. Valid during the call.
    std::uint32_t partition = 0;     ///< The partition of the log, also of a transaction's events.
    standing at = standing::open;
    error_code code{};
    clock::duration took{};
};

/// `begun`, `taken_up`, and so on.
const char* to_string(txn_event::kind type) noexcept;

/// Hears of the events of a coordinator, for logs, traces and tests.
///
/// The counters (`coordinator::stats`) include an event when it is heard: a transaction that has
/// ended or was let go is no longer among the `open` ones.
///
/// @par Threads   Called on the coordinator's strand, one event at a time. It must neither block
///                nor call the coordinator, except for `stats`: post such work.
/// @par Lifetimes Not owned: it must live until `async_stop` has completed, or the context has
///                ended.
class txn_observer {
public:
    virtual void on_event(const txn_event& event) noexcept = 0;

protected:
    ~txn_observer() = default;
};

}  // namespace mortise::txn

#endif
