// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_POSTGRES_PG_SENDER_HPP
#define MORTISE_POSTGRES_PG_SENDER_HPP

#include "postgres/pg_message.hpp"
#include "postgres/pg_statements.hpp"

#include <libpq-fe.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::postgres_detail {

/// Puts messages into the buffer of libpq and remembers what it will report for them, in order.
/// Statements are prepared at their first use and known by their names from then on.
class pg_sender {
public:
    /// A thing that libpq will report.
    struct expected {
        enum class kind : std::uint8_t {
            prepared,
            answer,     ///< To a step.
            sync,       ///< Behind a step, or behind all.
            forgotten,  ///< A statement for which there was no room any longer.
        };
        kind type;
        std::size_t step = 0;
        std::shared_ptr<pg_statement> statement;  ///< If it is prepared.
    };

    explicit pg_sender(std::size_t statements_max) : statements_(statements_max) {}

    /// Sends a message; its last Sync writes the buffer out. @return the number of its Syncs
    std::size_t send(PGconn* to, const std::vector<pg_step>& steps);
    /// Whether libpq has refused something: what it reports cannot be told apart any longer.
    bool failed() const noexcept { return failed_; }

    bool empty() const noexcept { return expected_.empty(); }
    const expected& next() const noexcept { return expected_.front(); }
    void pop() { expected_.pop_front(); }
    /// Notes that the server does not know the statement, or knows it for a table of another shape.
    void forget(pg_statement& statement) { statements_.forget(statement); }
    /// Has a statement forgotten once more, because the server has refused that.
    void forget_again(const std::shared_ptr<pg_statement>& statement) {
        evicted_.push_back(statement);
    }
    /// Expects nothing any longer.
    void clear() noexcept { expected_.clear(); }

private:
    void send_step(PGconn* to, const pg_step& step, std::size_t number);
    void expect(expected next, int sent);

    std::deque<expected> expected_;
    pg_statements statements_;
    std::vector<std::shared_ptr<pg_statement>> evicted_;  ///< The server must still forget them.
    bool failed_ = false;
};

}  // namespace mortise::postgres_detail

#endif
