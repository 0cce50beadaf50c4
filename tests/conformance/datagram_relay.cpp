// SPDX-License-Identifier: BSL-1.0
#include "conformance/datagram_relay.hpp"

#include "mortise/coro/time_source.hpp"

#include <boost/asio/local/datagram_protocol.hpp>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <array>
#include <chrono>
#include <system_error>
#include <utility>

namespace mortise::test {
namespace {

namespace fs = std::filesystem;
using protocol = asio::local::datagram_protocol;

constexpr auto lateness = std::chrono::milliseconds(30);

}  // namespace

/// The relay for one socket, which was moved away from `name`.
class datagram_relay::place : public std::enable_shared_from_this<place> {
public:
    place(asio::io_context& context, const fs::path& name, const fs::path& moved)
        : time_(coro::make_boot_time_source(context.get_executor())),
          socket_(context),
          moved_(moved) {
        socket_.open();
        socket_.bind(protocol::endpoint(name.string()));
        EXPECT_EQ(::chmod(name.c_str(), 0600), 0);
    }
    ~place() {
        std::error_code ignored;
        fs::remove(moved_, ignored);
    }
    place(const place&) = delete;
    place& operator=(const place&) = delete;

    void pass_on(const datagram_relay& by) {
        socket_.async_receive(
            asio::buffer(bytes_),
            [self = shared_from_this(), &by](error_code failed, std::size_t size) {
                if (failed)
                    return;  // closed
                self->pass_on(std::string(self->bytes_.data(), size), by);
                self->pass_on(by);
            }
        );
    }
    void close() {
        error_code ignored;
        socket_.close(ignored);
    }

private:
    void pass_on(const std::string& datagram, const datagram_relay& by) {
        switch (by.judge_ ? by.judge_() : delivery::once) {
        case delivery::never:
            break;
        case delivery::late:
            time_->async_wait_until(
                time_->now() + lateness,
                [self = shared_from_this(), datagram](error_code) { self->send(datagram); }
            );
            break;
        case delivery::twice:
            send(datagram);
            [[fallthrough]];
        case delivery::once:
            send(datagram);
            break;
        }
    }

    // Ignores failures, since the receiver may be gone.
    void send(const std::string& datagram) {
        protocol::socket from(socket_.get_executor(), protocol());
        from.non_blocking(true);
        error_code ignored;
        from.send_to(asio::buffer(datagram), protocol::endpoint(moved_.string()), 0, ignored);
    }

    const std::shared_ptr<coro::time_source> time_;
    protocol::socket socket_;
    const fs::path moved_;
    std::array<char, 256> bytes_{};
};

datagram_relay::datagram_relay(
    asio::io_context& context, fs::path folder, std::string suffix, fs::path away
)
    : context_(context),
      folder_(std::move(folder)),
      suffix_(std::move(suffix)),
      away_(std::move(away)) {
    fs::create_directory(away_);
}

datagram_relay::~datagram_relay() {
    for (const auto& [name, each] : places_)
        each->close();
}

void datagram_relay::look() {
    std::erase_if(places_, [this](const auto& each) {
        const bool gone = !fs::exists(folder_ / each.first);
        if (gone)
            each.second->close();
        return gone;
    });
    for (const auto& each : fs::directory_iterator(folder_)) {
        const std::string name = each.path().filename();
        std::error_code gone;
        if (!name.ends_with(suffix_) || places_.contains(name) || !each.is_socket(gone))
            continue;
        fs::rename(each.path(), away_ / name, gone);
        if (gone == std::errc::no_such_file_or_directory)
            continue;  // Its session has ended meanwhile.
        ASSERT_FALSE(gone) << gone.message();
        const auto new_place = std::make_shared<place>(context_, each.path(), away_ / name);
        new_place->pass_on(*this);
        places_.emplace(name, new_place);
    }
}

}  // namespace mortise::test
