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

/// Something that happened to a coordinator or to one of its transactions.
struct txn_event {
    enum class kind : std::uint8_t {
        begun,     ///< A transaction has begun: it is on the disk.
        taken_up,  ///< One was found unfinished in the log, and is gone on with.
        decided,   ///< It is `at`, because of `code` if it is cancelled, `took` after it began.
        ended,     ///< Every branch is finished, `took` after it began or was taken up.
        let_go,    ///< It is another coordinator's, or the next one's, because of `code`.
        stuck,     ///< The participant of a branch refuses to finish it: somebody has to look.
        ahead,     ///< The participant of a branch has seen what the log does not know.

        participant_broken,     ///< It does not answer, as `code` says, and is hardly called.
        participant_recovered,  ///< It answers again.

        partition_gained,  ///< It is decided here from now on.
        partition_lost,    ///< It is not any more, because of `code`.

        log_opened,
        log_failed,  ///< Nothing can be written, because of `code`; it is opened anew.
    };

    kind what = kind::begun;
    txn::gid gid{};                  ///< Empty where no transaction is concerned.
    branch_number branch = 0;        ///< Zero where none is.
    std::string_view participant{};  ///< Empty where none is. Valid during the call.
    std::uint32_t partition = 0;     ///< Of the log; of a transaction, too.
    standing at = standing::open;
    error_code code{};
    clock::duration took{};
};

/// `begun`, `taken_up`, and so on.
const char* to_string(txn_event::kind what) noexcept;

/// Hears of what happens to a coordinator, for logs, traces and tests.
///
/// @par Threads   Called on the coordinator's strand, one at a time: it must not block, and must
///                not call the coordinator: post what does.
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
