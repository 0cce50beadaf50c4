// SPDX-License-Identifier: BSL-1.0
#include "bench/run_control.hpp"
#include "bench/server_meter.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/store/zookeeper.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <poll.h>
#include <sys/time.h>
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

namespace mortise::tool {
namespace {

constexpr std::chrono::milliseconds silence_max{10'000};

struct zookeeper_closer {
    void operator()(zhandle_t* each) const noexcept { ::zookeeper_close(each); }
};

/// A session of ZooKeeper's C client, which is driven by whoever waits for an answer.
class zookeeper_meter final : public blocking_meter {
public:
    explicit zookeeper_meter(const zookeeper_store_config& store)
        : root_(store.root),
          host_(store.servers.front().host),
          port_(std::to_string(store.servers.front().port)),
          secret_(!store.user.empty()) {
        const std::string server = host_ + ':' + port_;
        handle_.reset(::zookeeper_init2(
            server.c_str(),
            &zookeeper_meter::on_event,
            static_cast<int>(silence_max.count()),
            nullptr,
            this,
            0,
            [](const char*) {}
        ));
        if (!handle_)
            refuse_measurement("no session");
        // Else it would look the server up before each operation.
        ::zoo_set_servers_resolution_delay(handle_.get(), -1);
        const std::string login = store.user + ':' + store.password;
        if (secret_)
            ::zoo_add_auth(
                handle_.get(),
                "digest",
                login.data(),
                static_cast<int>(login.size()),
                nullptr,
                nullptr
            );
        drive_until([this] { return ::zoo_state(handle_.get()) == ZOO_CONNECTED_STATE; });
    }

    std::string_view exchange() const noexcept override {
        return "bare creates and deletes, in turn, of an ephemeral sequential node, by the C "
               "client";
    }

    // By its word of four letters. Packets: the pings of its clients are among them.
    std::optional<server_counts> counts(bool) override {
        asio::ip::tcp::iostream line;
        line.expires_after(silence_max);
        line.connect(host_, port_);
        line << "srvr" << std::flush;
        constexpr std::string_view label = "Received: ";
        for (std::string text; std::getline(line, text);) {
            if (!text.starts_with(label))
                continue;
            server_counts now;
            std::uint64_t received = 0;
            std::from_chars(text.data() + label.size(), text.data() + text.size(), received);
            now.commands = received;
            return now;
        }
        return std::nullopt;  // the server does not allow the word
    }

    void subscribe(const std::string& channel) override {
        own_ = node_of(channel);
        create(own_, ZOO_EPHEMERAL);
        watch_own();
        drive_until([this] { return watched_; });
    }

protected:
    void exchange_once() override {
        if (made_.empty())
            return create(root_ + "/bench-", ZOO_EPHEMERAL_SEQUENTIAL);
        erase(std::exchange(made_, ""));
    }

    // A watch tells what was done to a node, and not what is in it now: the last word is the end of
    // the node.
    void publish(const std::string& channel, const std::string& word) override {
        if (word == last_echo)
            return erase(node_of(channel));
        answered_ = false;
        require(::zoo_aset(
            handle_.get(),
            node_of(channel).c_str(),
            word.data(),
            static_cast<int>(word.size()),
            -1,
            [](int code, const Stat*, const void* self) { answer(self, code); },
            this
        ));
        await_answer();
    }

    std::string hear() override {
        drive_until([this] { return seen_ != 0; });
        if (std::exchange(seen_, 0) == ZOO_DELETED_EVENT)
            return last_echo;
        watch_own();  // before the next word is sent: the server does one after the other
        return echo;
    }

private:
    static void on_event(zhandle_t*, int type, int, const char* path, void* context) {
        auto& self = *static_cast<zookeeper_meter*>(context);
        if ((type == ZOO_CHANGED_EVENT || type == ZOO_DELETED_EVENT) && self.own_ == path)
            self.seen_ = type;
    }

    static void answer(const void* context, int code) {
        auto& self = *static_cast<zookeeper_meter*>(const_cast<void*>(context));
        self.code_ = code;
        self.answered_ = true;
    }

    std::string node_of(const std::string& channel) const { return root_ + '/' + channel; }

    void create(const std::string& path, int flags) {
        answered_ = false;
        require(::zoo_acreate(
            handle_.get(),
            path.c_str(),
            "",
            0,
            secret_ ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE,
            flags,
            [](int code, const char* name, const void* self) {
                if (code == ZOK)
                    static_cast<zookeeper_meter*>(const_cast<void*>(self))->made_ = name;
                answer(self, code);
            },
            this
        ));
        await_answer();
    }

    void erase(const std::string& path) {
        answered_ = false;
        const auto done = [](int code, const void* self) { answer(self, code); };
        require(::zoo_adelete(handle_.get(), path.c_str(), -1, done, this));
        await_answer();
    }

    void watch_own() {
        watched_ = false;
        const auto done = [](int code, const Stat*, const void* self) {
            static_cast<zookeeper_meter*>(const_cast<void*>(self))->watched_ = code == ZOK;
        };
        require(::zoo_aexists(handle_.get(), own_.c_str(), 1, done, this));
    }

    void await_answer() {
        drive_until([this] { return answered_; });
        require(code_);
    }

    template <class Done>
    void drive_until(Done done) {
        const clock::time_point end = clock::now() + silence_max;
        while (!done()) {
            if (clock::now() > end)
                refuse_measurement("no answer");
            pollfd ready{-1, 0, 0};
            int interest = 0;
            timeval most{};
            ::zookeeper_interest(handle_.get(), &ready.fd, &interest, &most);
            ready.events = static_cast<short>(
                ((interest & ZOOKEEPER_READ) != 0 ? POLLIN : 0) |
                ((interest & ZOOKEEPER_WRITE) != 0 ? POLLOUT : 0)
            );
            constexpr int wait_max_ms = 100;
            const auto wait_ms = most.tv_sec * 1'000 + most.tv_usec / 1'000;
            ::poll(&ready, 1, static_cast<int>(std::clamp<long>(wait_ms, 1, wait_max_ms)));
            interruption::check();
            const int events = ((ready.revents & POLLIN) != 0 ? ZOOKEEPER_READ : 0) |
                               ((ready.revents & POLLOUT) != 0 ? ZOOKEEPER_WRITE : 0);
            ::zookeeper_process(handle_.get(), events);
            if (::is_unrecoverable(handle_.get()) != ZOK)
                refuse_measurement("the session is over");
        }
    }

    void require(int code) const {
        if (code != ZOK)
            refuse_measurement(::zerror(code));
    }

    [[noreturn]] void refuse_measurement(const std::string& why) const {
        throw failure(
            exit_code::unavailable,
            "the ZooKeeper server does not answer the measurement",
            host_ + ':' + port_ + " (" + why + ')'
        );
    }

    const std::string root_;
    const std::string host_;
    const std::string port_;
    const bool secret_;  ///< Nodes are for this user only, as those of the store are.
    std::string own_;    ///< The node that others write, for words to this meter.
    std::string made_;   ///< The node that was made last.
    int code_ = ZOK;
    int seen_ = 0;  ///< What was done to the own node.
    bool answered_ = false;
    bool watched_ = false;
    // The last: its end still answers what is under way.
    std::unique_ptr<zhandle_t, zookeeper_closer> handle_;
};

}  // namespace

std::unique_ptr<server_meter> make_zookeeper_meter(const std::string& store) {
    if (!store.starts_with("zookeeper:"))
        return nullptr;
    const auto config = parse_zookeeper_url(store);
    if (config.servers.size() != 1)
        return nullptr;  // an ensemble: each member has counters and delays of its own
    return std::make_unique<zookeeper_meter>(config);
}

}  // namespace mortise::tool
