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
    : session_(executor, config_for(given)) {}

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
