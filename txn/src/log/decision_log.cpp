// SPDX-License-Identifier: BSL-1.0
#include "log/decision_log.hpp"

#include "mortise/coro/assert.hpp"
#include "mortise/store_types.hpp"

namespace mortise::txn::log {
namespace {

db::sqlite_config config_for(const coordinator_config& given) {
    if (given.must_exist && !std::filesystem::exists(given.log))
        throw error(errc::log_missing, given.log.string(), "see that its disk is there");
    db::sqlite_config config;
    config.path = given.log;
    config.vfs = given.vfs;
    config.queue_max = 1u << 20;
    return config;
}

}  // namespace

decision_log::decision_log(const asio::any_io_executor& executor, const coordinator_config& given)
    : session_(executor, config_for(given)), mark_(std::make_shared<log_mark>(given.log)) {}

// Compares the log with its mark. No commit can come between, because the closure has the writer.
log_facts decision_log::prepare_by(log_mark& mark, db::connection& on, const log_facts& fresh) {
    const auto found = log_tables::prepare(on, fresh);
    mark.adopt(found.id);
    for (std::uint32_t i = 0; i < found.partitions; ++i) {
        const auto here = log_tables::changes(on, i);
        if (here < mark.changes(i)) {
            throw error(
                errc::old_log,
                "partition " + std::to_string(i) + " of it has " + std::to_string(here) +
                    " changes, and " + mark.path().string() + " says " +
                    std::to_string(mark.changes(i)),
                "find the newest copy; if there is none, `mortise txn adopt LOG` goes on with this "
                "one, and what was decided since is to be settled by hand"
            );
        }
    }
    return found;
}

// Leaves a gap above the mark: a power failure may have lost the latest raises of the mark, and the
// numbers that it did not see may be in use.
void decision_log::adopt_by(log_mark& mark, db::connection& on) {
    constexpr std::uint64_t unseen = 1u << 16;
    const auto found = log_tables::prepare(on, log_facts());
    mark.adopt(found.id);
    log_tables::go_on_above(on, mark.number() + unseen);
    for (std::uint32_t i = 0; i < found.partitions; ++i)
        log_tables::go_on_above(on, i, mark.changes(i) + unseen);
}

durable_decision decision_log::proof_of(const term& by, const logged& found) {
    MORTISE_ASSERT(found.at == standing::confirmed || found.at == standing::cancelled);
    return {txn::gid{by.log, found.number}, found.at == standing::confirmed};
}

std::uint64_t decision_log::random_term() {
    const auto drawn = random_id::draw();
    constexpr auto below = ~(std::uint64_t{1} << 63);
    const auto made = drawn.low & below;
    return made != 0 ? made : 1;
}

}  // namespace mortise::txn::log
