// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_TCC_WORLD_HPP
#define MORTISE_TOOLS_BENCH_TCC_WORLD_HPP

#include "bench/passing_file.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/txn/coordinator.hpp"

#include <boost/asio/awaitable.hpp>

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace mortise::tool {

inline std::filesystem::path
bench_file(const std::filesystem::path& folder, const std::string& name) {
    return folder / ("mortise-bench-" + std::to_string(::getpid()) + '-' + name + ".db");
}

/// A purchase: one branch at each of the two participants.
inline txn::transaction bench_purchase() {
    txn::transaction made;
    made.add("stock", R"({"item":"apple","count":2,"order":4711})");
    made.add("wallet", R"({"account":"alice","cents":499,"order":4711})");
    return made;
}

/// A participant that agrees to everything at once.
std::shared_ptr<txn::participant> willing_participant();

/// Polls `is_so` every millisecond until it is true. @throws failure if that takes longer than
/// `limit`.
asio::awaitable<void> await_so(std::function<bool()> is_so, clock::duration limit);

}  // namespace mortise::tool

#endif
