// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/postgres.hpp"

#include "db/postgres_core.hpp"

#include <utility>

namespace mortise::db {

postgres::postgres(executor_type executor, postgres_config config)
    : core_(std::make_shared<detail::postgres_core>(std::move(executor), std::move(config))) {
    core_->attach();
}

postgres::postgres(postgres&&) noexcept = default;
postgres& postgres::operator=(postgres&& other) noexcept {
    postgres taken(std::move(other));
    core_.swap(taken.core_);
    return *this;
}

postgres::~postgres() {
    if (core_)
        core_->end();
}

postgres::executor_type postgres::get_executor() const noexcept {
    MORTISE_ASSERT(core_);
    return core_->executor();
}

void postgres::start_stop(
    coro::detail::completion<void(error_code)> done, std::shared_ptr<detail::postgres_core> core
) {
    core->stop(std::move(done));
}

postgres_stats postgres::stats() const noexcept {
    MORTISE_ASSERT(core_);
    return core_->stats();
}

}  // namespace mortise::db
