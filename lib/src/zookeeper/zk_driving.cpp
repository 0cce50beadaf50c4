// SPDX-License-Identifier: BSL-1.0
#include "zookeeper/zk_driving.hpp"

#include <pthread.h>

#include <mutex>

namespace mortise::zookeeper_detail {
namespace {

thread_local bool has_turn = false;

std::mutex& client_mutex() {
    static std::mutex only;
    // A child has only the thread that forked it: whoever else had the mutex would keep it.
    [[maybe_unused]] static const int survives_forks =
        ::pthread_atfork([] { only.lock(); }, [] { only.unlock(); }, [] { only.unlock(); });
    return only;
}

}  // namespace

client_turn::client_turn() : outermost_(!std::exchange(has_turn, true)) {
    if (outermost_)
        client_mutex().lock();
}

client_turn::~client_turn() {
    if (!outermost_)
        return;
    has_turn = false;
    client_mutex().unlock();
}

}  // namespace mortise::zookeeper_detail
