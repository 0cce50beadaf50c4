// SPDX-License-Identifier: BSL-1.0
// Replaces http_bank.cpp in a program without HTTP participants.
#include "bench/http_bank.hpp"

namespace mortise::tool {

std::unique_ptr<http_bank> http_bank::start() {
    return nullptr;
}

http_bank::~http_bank() = default;

std::shared_ptr<txn::participant>
http_bank::participant(const asio::any_io_executor&, const std::string&) const {
    return nullptr;
}

}  // namespace mortise::tool
