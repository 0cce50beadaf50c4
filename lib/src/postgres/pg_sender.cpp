// SPDX-License-Identifier: BSL-1.0
#include "postgres/pg_sender.hpp"

namespace mortise::postgres_detail {

std::size_t pg_sender::send(PGconn* to, const std::vector<pg_step>& steps) {
    using kind = expected::kind;
    std::size_t syncs = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        send_step(to, steps[i], i);
        if (steps[i].ends || i + 1 == steps.size()) {
            expect({kind::sync, i, nullptr}, ::PQpipelineSync(to));
            ++syncs;
        }
    }
    // Statements are forgotten behind the message: in a transaction that has failed, the server
    // refuses this, and would skip the rest.
    const auto evicted = std::exchange(evicted_, {});
    for (const auto& each : evicted) {
        const std::string text = "DEALLOCATE " + each->name;
        expect(
            {kind::forgotten, 0, each},
            ::PQsendQueryParams(to, text.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0)
        );
    }
    if (steps.empty() || !evicted.empty()) {
        expect({kind::sync, steps.size(), nullptr}, ::PQpipelineSync(to));
        ++syncs;
    }
    return syncs;
}

void pg_sender::send_step(PGconn* to, const pg_step& step, std::size_t number) {
    using kind = expected::kind;
    const char* const text = step.sql.text.c_str();
    const pg_parameters parameters(step.sql.values);
    auto statement = statements_.any() ? statements_.find(step.sql.text) : nullptr;
    if (statements_.any() && !statement) {
        if (const auto oldest = statements_.take_oldest())
            evicted_.push_back(oldest);
        statement = statements_.add(step.sql.text);
        expect(
            {kind::prepared, number, statement},
            ::PQsendPrepare(to, statement->name.c_str(), text, 0, nullptr)
        );
    } else if (statement && statement->at_server != pg_statement::state::known) {
        statement.reset();  // its preparation may still fail
    }
    const auto count = parameters.count();
    const auto* const values = parameters.values();
    const auto* const lengths = parameters.lengths();
    const auto* const formats = parameters.formats();
    const int sent =
        statement
            ? ::PQsendQueryPrepared(to, statement->name.c_str(), count, values, lengths, formats, 0)
            : ::PQsendQueryParams(to, text, count, nullptr, values, lengths, formats, 0);
    expect({kind::answer, number, std::move(statement)}, sent);
}

void pg_sender::expect(expected next, int sent) {
    expected_.push_back(std::move(next));
    failed_ = failed_ || sent != 1;
}

}  // namespace mortise::postgres_detail
