// SPDX-License-Identifier: BSL-1.0
#include "mortise/kafka/inbox_consumer.hpp"

#include "feed/inbox_consumer_core.hpp"
#include "mortise/coro/assert.hpp"

#include <utility>

namespace mortise::kafka {

inbox_consumer::inbox_consumer(
    executor_type executor, std::shared_ptr<outbox::inbox> to, const inbox_consumer_config& config
)
    : core_(
          std::make_shared<detail::inbox_consumer_core>(std::move(executor), std::move(to), config)
      ) {
    core_->attach();
}

inbox_consumer::~inbox_consumer() {
    if (core_)
        core_->close();
}

inbox_consumer::inbox_consumer(inbox_consumer&&) noexcept = default;

inbox_consumer& inbox_consumer::operator=(inbox_consumer&& other) noexcept {
    if (const auto before = std::exchange(core_, std::move(other.core_)))
        before->close();
    return *this;
}

inbox_consumer::executor_type inbox_consumer::get_executor() const noexcept {
    MORTISE_ASSERT(core_);
    return core_->executor();
}

}  // namespace mortise::kafka
