// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/writer_runner.hpp"

#include "store/sqlite/turn_job.hpp"

namespace mortise::store_detail {

void writer_runner::run(std::span<const std::shared_ptr<coro::detail::worker_job>> batch) noexcept {
    for (const auto& job : batch) {
        const auto turn = dynamic_cast<const turn_job*>(job.get());
        if (!turn) {
            perform();
            job->run();
            continue;
        }
        for (const auto& each : turn->asked()) {
            together_.push_back(&each->operation());
            if (together_.size() == together_max)
                perform();
        }
    }
    perform();
}

void writer_runner::perform() noexcept {
    if (together_.empty())
        return;
    try {
        state_->perform(together_);
    } catch (...) {
        const error_code why = coro::detail::code_of_current_exception();
        for (lock_operation* each : together_)
            each->fail(why);
    }
    together_.clear();
}

}  // namespace mortise::store_detail
