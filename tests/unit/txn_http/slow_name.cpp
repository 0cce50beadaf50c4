// SPDX-License-Identifier: BSL-1.0
#include "unit/txn_http/slow_name.hpp"

#include <dlfcn.h>
#include <netdb.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

namespace mortise::test {

struct slow_name::state {
    enum class reply { none, address, no_host };

    /// Waits for the reply. @return whether there is an address.
    bool wait() {
        std::unique_lock hold(mutex);
        ++asked;
        ++waiting;
        changed.wait(hold, [this] { return now != reply::none; });
        --waiting;
        return now == reply::address;
    }
    void set(reply next) {
        const std::lock_guard hold(mutex);
        now = next;
        changed.notify_all();
    }

    mutable std::mutex mutex;
    std::condition_variable changed;
    reply now = reply::none;
    std::size_t asked = 0;
    std::size_t waiting = 0;
};

namespace {

std::atomic<std::size_t> all_asked{0};

/// Never destroyed: threads that were left alone may still look.
class name_table {
public:
    static name_table& get() {
        static auto& table = *new name_table();
        return table;
    }
    void add(const std::string& host, std::shared_ptr<slow_name::state> state) {
        const std::lock_guard hold(mutex_);
        names_[host] = std::move(state);
    }
    void remove(const std::string& host) {
        const std::lock_guard hold(mutex_);
        names_.erase(host);
    }
    std::shared_ptr<slow_name::state> find(const char* host) {
        const std::lock_guard hold(mutex_);
        const auto found = names_.find(host);
        return found == names_.end() ? nullptr : found->second;
    }

private:
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<slow_name::state>> names_;
};

}  // namespace

slow_name::slow_name(std::string host) : host_(std::move(host)), state_(std::make_shared<state>()) {
    name_table::get().add(host_, state_);
}

slow_name::~slow_name() {
    name_table::get().remove(host_);
    deny();
}

void slow_name::answer() {
    state_->set(state::reply::address);
}

void slow_name::deny() {
    state_->set(state::reply::no_host);
}

void slow_name::fall_silent() {
    state_->set(state::reply::none);
}

std::size_t slow_name::asked() const {
    const std::lock_guard hold(state_->mutex);
    return state_->asked;
}

std::size_t slow_name::waiting() const {
    const std::lock_guard hold(state_->mutex);
    return state_->waiting;
}

std::size_t names_looked_up() {
    return all_asked;
}

}  // namespace mortise::test

// In the place of the C library's, for this program.
extern "C" int
getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
    using resolve = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
    static const auto real = reinterpret_cast<resolve>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    ++mortise::test::all_asked;
    if (const auto slow = node ? mortise::test::name_table::get().find(node) : nullptr) {
        if (!slow->wait())
            return EAI_NONAME;
        node = "127.0.0.1";
    }
    return real(node, service, hints, found);
}
