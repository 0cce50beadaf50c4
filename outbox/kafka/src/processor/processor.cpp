// SPDX-License-Identifier: BSL-1.0
#include "mortise/kafka/processor.hpp"

#include "mortise/coro/assert.hpp"
#include "processor/processor_core.hpp"

#include <utility>

namespace mortise::kafka {

processor::processor(executor_type executor, const processor_config& config)
    : core_(std::make_shared<detail::processor_core>(std::move(executor), config)) {
    core_->attach();
}

processor::~processor() {
    if (core_)
        core_->close();
}

processor::processor(processor&&) noexcept = default;

processor& processor::operator=(processor&& other) noexcept {
    if (const auto before = std::exchange(core_, std::move(other.core_)))
        before->close();
    return *this;
}

processor::executor_type processor::get_executor() const noexcept {
    MORTISE_ASSERT(core_);
    return core_->executor();
}

}  // namespace mortise::kafka
