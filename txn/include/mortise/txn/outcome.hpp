// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_OUTCOME_HPP
#define MORTISE_TXN_OUTCOME_HPP

#include "mortise/error.hpp"
#include "mortise/txn/gid.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace mortise::txn {

/// The result of a transaction. Once `confirmed` or `cancelled`, it never changes.
class [[nodiscard]] outcome {
public:
    enum class kind : std::uint8_t {
        unknown,    ///< Not known here: ask for it by `coordinator::async_outcome`.
        confirmed,  ///< Decided: every branch is confirmed, or will be.
        cancelled,  ///< Decided: every branch is cancelled, or will be.
    };

    outcome() = default;  // declared: no aggregate (docs/compilers.md, G3)
    outcome(kind type, txn::gid of, error_code why = {}, std::string text = {})
        : type_(type), gid_(of), why_(why), text_(std::move(text)) {}

    kind type() const noexcept { return type_; }
    bool confirmed() const noexcept { return type_ == kind::confirmed; }
    bool cancelled() const noexcept { return type_ == kind::cancelled; }
    bool unknown() const noexcept { return type_ == kind::unknown; }

    const txn::gid& gid() const noexcept { return gid_; }

    /// The reason why it was cancelled, or is unknown.
    error_code why() const noexcept { return why_; }
    /// Details for people: the text of the participant that refused.
    const std::string& text() const noexcept { return text_; }

private:
    kind type_ = kind::unknown;
    txn::gid gid_;
    error_code why_;
    std::string text_;
};

/// How a transaction stands in its log.
enum class standing : std::uint8_t {
    never_existed,  ///< No transaction of that number has begun.
    open,           ///< Under way: not decided.
    confirmed,
    cancelled,
    forgotten,  ///< It ended so long ago that the log has forgotten how.
};

const char* to_string(standing value) noexcept;

/// Converts the result of `coordinator::async_outcome` or `async_settle`. Errors that say nothing
/// about the transaction are passed on.
result<standing> standing_of(error_code failed, const outcome& outcome);

}  // namespace mortise::txn

#endif
