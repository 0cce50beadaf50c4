// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_OUTCOME_HPP
#define MORTISE_TXN_OUTCOME_HPP

#include "mortise/error.hpp"
#include "mortise/txn/gid.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace mortise::txn {

/// What a transaction came to. Once it is `confirmed` or `cancelled` it never changes.
class [[nodiscard]] outcome {
public:
    enum class kind : std::uint8_t {
        unknown,    ///< Not known here: ask for it by `coordinator::async_outcome`.
        confirmed,  ///< Decided: every branch is confirmed, or will be.
        cancelled,  ///< Decided: every branch is cancelled, or will be.
    };

    outcome() = default;  // declared: no aggregate (docs/compilers.md, G3)
    outcome(kind what, txn::gid of, error_code why = {}, std::string text = {})
        : what_(what), gid_(of), why_(why), text_(std::move(text)) {}

    kind what() const noexcept { return what_; }
    bool confirmed() const noexcept { return what_ == kind::confirmed; }
    bool cancelled() const noexcept { return what_ == kind::cancelled; }
    bool unknown() const noexcept { return what_ == kind::unknown; }

    const txn::gid& gid() const noexcept { return gid_; }

    /// Why it was cancelled, or is unknown.
    error_code why() const noexcept { return why_; }
    /// More about that, for people: what the participant said that refused.
    const std::string& text() const noexcept { return text_; }

private:
    kind what_ = kind::unknown;
    txn::gid gid_;
    error_code why_;
    std::string text_;
};

/// What a log says of a transaction.
enum class standing : std::uint8_t {
    never_existed,  ///< No transaction of that number has begun.
    open,           ///< Under way: not decided.
    confirmed,
    cancelled,
    forgotten,  ///< It has ended, so long ago that nothing else is known.
};

const char* to_string(standing what) noexcept;

/// What an answer of `coordinator::async_outcome` or `async_settle` says of a transaction; an error
/// that says nothing of it is passed on.
result<standing> standing_of(error_code failed, const outcome& came);

}  // namespace mortise::txn

#endif
