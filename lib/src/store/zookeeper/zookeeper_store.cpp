// SPDX-License-Identifier: BSL-1.0
#include "mortise/store/zookeeper.hpp"
#include "store/store_domain.hpp"
#include "store/zookeeper/ensemble_access.hpp"
#include "store/zookeeper/lock_form.hpp"
#include "store/zookeeper/server_probe.hpp"
#include "store/zookeeper/zookeeper_views.hpp"
#include "url/database_url.hpp"
#include "url/store_opener.hpp"
#include "zookeeper/zk_handle.hpp"

#include <utility>

namespace mortise {
namespace {

using std::chrono::milliseconds;
using store_detail::lock_form;
using store_detail::zookeeper_link;
using store_detail::zookeeper_views;

class zookeeper_store final : public store {
public:
    zookeeper_store(zookeeper_store_config config, store_detail::ensemble_access servers)
        : link_(std::make_shared<zookeeper_link>(std::move(config), std::move(servers))),
          locks_(
              queues() ? store_detail::make_queue_form(link_)
                       : store_detail::make_single_node_form(link_)
          ) {
        zookeeper_link::listener to;
        to.seen = [weak = std::weak_ptr(locks_), link = link_.get()](const auto& event) {
            if (event.type == store_detail::zk_event::kind::children)
                link->tell_changed();
            if (const auto locks = weak.lock())
                locks->see(event);
        };
        to.reconnected = [weak = std::weak_ptr(locks_)] {
            if (const auto locks = weak.lock())
                locks->reconnected();
        };
        to.ended = [weak = std::weak_ptr(locks_)] {
            const auto locks = weak.lock();
            return locks ? locks->clear() : std::vector<store_detail::zk_change>();
        };
        link_->listen(std::move(to));
    }
    ~zookeeper_store() override { link_->detach(); }

    store_traits traits() const noexcept override {
        store_traits traits;
        traits.scheme = "zookeeper";
        traits.remote = true;
        traits.quarantine = false;
        traits.strength = token_strength::strict;
        traits.push = traits.server_clock = true;
        traits.fair = traits.shared = traits.permits = traits.waiters = queues();
        traits.release_and_request = queues();
        traits.counts = false;
        traits.ttl_min = milliseconds(100);
        traits.ttl_max = std::chrono::hours(24);
        return traits;
    }

    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) override {
        strand_ = strand;
        time_ = time;
        link_->attach(std::move(strand), events, std::move(time));
    }
    void detach() noexcept override {
        link_->detach();
        link_->close_parting();
    }

    asio::awaitable<result<resumed>> resume(session_start start) override {
        auto opening = link_->resume(std::move(start));
        auto reply = co_await std::move(opening);
        if (!reply)
            co_return reply;
        auto looking = locks_->look();
        auto view = co_await std::move(looking);
        if (!view)
            co_return view.error();
        reply->view = std::move(*view);
        co_return reply;
    }

    asio::awaitable<error_code> end() override {
        const auto link = link_;
        auto settling = link->settled();
        co_await std::move(settling);
        auto ending = locks_->end();
        if (const error_code failed = co_await std::move(ending))
            co_return failed;
        auto leaving = link->leave();
        co_return co_await std::move(leaving);
    }

    asio::awaitable<result<answer>> request(lock_request request) override {
        return locks_->request(std::move(request));
    }
    asio::awaitable<error_code> withdraw(std::string name, request_id id) override {
        return locks_->withdraw(std::move(name), id);
    }
    asio::awaitable<result<bool>> release(grant held) override {
        return locks_->release(std::move(held));
    }
    asio::awaitable<released_and_asked>
    release_and_request(grant held, lock_request request) override {
        return locks_->release_and_request(std::move(held), std::move(request));
    }
    asio::awaitable<result<token_range>> draw(grant held) override {
        return locks_->draw(std::move(held));
    }

    asio::awaitable<result<heartbeat>> beat(proof_number) override {
        const auto locks = locks_;
        auto beating = link_->beat();
        auto reply = co_await std::move(beating);
        if (reply)
            reply->changes = locks->changes();
        co_return reply;
    }

    asio::awaitable<result<session_view>> look(proof_number) override { return locks_->look(); }

    asio::awaitable<result<std::vector<lock_view>>>
    list(std::string after, std::size_t limit, std::size_t queue_max) override {
        auto coming = visit();
        const auto guest = co_await std::move(coming);
        if (!guest)
            co_return guest.error();
        auto listing = (*guest)->views().list(std::move(after), limit, queue_max);
        co_return co_await std::move(listing);
    }
    asio::awaitable<result<std::optional<lock_view>>>
    inspect(std::string name, std::size_t queue_max) override {
        auto coming = visit();
        const auto guest = co_await std::move(coming);
        if (!guest)
            co_return guest.error();
        auto looking = (*guest)->views().inspect(std::move(name), queue_max);
        co_return co_await std::move(looking);
    }
    asio::awaitable<result<bool>> break_(break_order order) override {
        auto coming = visit();
        const auto guest = co_await std::move(coming);
        if (!guest)
            co_return guest.error();
        auto breaking = (*guest)->views().break_(std::move(order));
        co_return co_await std::move(breaking);
    }
    asio::awaitable<result<std::vector<break_record>>>
    breaks(std::string name, std::size_t limit) override {
        auto coming = visit();
        const auto guest = co_await std::move(coming);
        if (!guest)
            co_return guest.error();
        auto reading = (*guest)->views().breaks(std::move(name), limit);
        co_return co_await std::move(reading);
    }
    asio::awaitable<result<std::vector<store_finding>>> examine() override {
        auto coming = visit();
        const auto guest = co_await std::move(coming);
        if (!guest)
            co_return guest.error();
        auto examining = (*guest)->views().examine();
        co_return co_await std::move(examining);
    }
    asio::awaitable<error_code> watch() override { return store_detail::watch_all(link_); }
    std::string explain() const override { return link_->explain(); }

private:
    bool queues() const noexcept { return link_->config().form == zookeeper_form::queue; }

    /// Looks at the store by the link of the session, or by one of its own.
    class visitor {
    public:
        visitor(std::shared_ptr<zookeeper_link> link, bool own)
            : link_(std::move(link)), views_(link_), own_(own) {}
        ~visitor() {
            if (own_)
                link_->detach();
        }
        visitor(const visitor&) = delete;
        visitor& operator=(const visitor&) = delete;

        zookeeper_views& views() noexcept { return views_; }

    private:
        const std::shared_ptr<zookeeper_link> link_;
        zookeeper_views views_;
        const bool own_;
    };

    asio::awaitable<result<std::shared_ptr<visitor>>> visit() {
        const auto link = link_;
        // While the first session is opened, the store may not have been made yet.
        if (link->usable() && link->has_store())
            co_return std::make_shared<visitor>(link, false);
        const auto own = std::make_shared<zookeeper_link>(link->config(), link->servers());
        own->attach(strand_, nobody_, time_);
        const auto guest = std::make_shared<visitor>(own, true);
        auto coming = own->visit();
        if (const error_code failed = co_await std::move(coming))
            co_return link->note(failed, own->explain());
        co_return guest;
    }

    class nobody final : public store_events {
        void on_store_event(const store_event&) noexcept override {}
    };

    const std::shared_ptr<zookeeper_link> link_;
    const std::shared_ptr<lock_form> locks_;
    asio::any_io_executor strand_;
    std::shared_ptr<coro::time_source> time_;
    nobody nobody_;
};

void check(const zookeeper_store_config& config) {
    const auto refuse = [](const std::string& setting, const char* remedy) {
        throw error(errc::bad_config, setting, remedy);
    };
    if (config.servers.empty())
        refuse("servers", "name at least one");
    for (const auto& each : config.servers) {
        if (each.host.empty() || each.port == 0)
            refuse("servers", "name a host and a port for each");
    }
    const auto& root = config.root;
    const bool sound = root.size() > 1 && root.front() == '/' && root.back() != '/' &&
                       root.find("//") == std::string::npos &&
                       root.find("/.") == std::string::npos && !root.starts_with("/zookeeper");
    constexpr char first_sound = ' ';
    for (const char c : root) {
        if (!sound || c < first_sound || c > '~')
            refuse("root = \"" + root + '"', "name a node, as in /mortise, in ASCII");
    }
    if (config.user.empty() != config.password.empty() ||
        config.user.find(':') != std::string::npos)
        refuse("user", "name a user without a colon, and a password, or neither");
    store_detail::check_wanted_domain(config.domain);
    constexpr auto longest = std::chrono::hours(24);
    if (config.tick < milliseconds(1) || config.tick > std::chrono::minutes(1))
        refuse("tick", "use the tickTime of the servers, one millisecond to a minute");
    if (config.connect_max <= milliseconds::zero() || config.connect_max > longest)
        refuse("connect_max", "use one millisecond to one day");
    constexpr std::size_t paths_min = 2'000;
    if (config.paths_max < paths_min)
        refuse(
            "paths_max = " + std::to_string(config.paths_max),
            "use at least 2,000 bytes, which are a dozen nodes"
        );
}

bool is_zookeeper_scheme(std::string_view scheme) noexcept {
    return scheme == "zookeeper";
}

zookeeper_form form_in(const store_url& url) {
    const auto form = url.option("form");
    if (form == "single_node")
        return zookeeper_form::single_node;
    if (!form.empty() && form != "queue")
        url.refuse("name a form: queue or single_node");
    return zookeeper_form::queue;
}

zookeeper_store_config config_of(const store_url& url) {
    url.allow_options(
        {"domain",
         "form",
         "tick_ms",
         "connect_max_ms",
         "paths_max_bytes",
         "password_file",
         "password_env"}
    );
    const auto server = server_url::parse(url, zookeeper_address::usual_port);
    zookeeper_store_config config;
    config.servers.clear();
    for (const auto& each : server.places)
        config.servers.emplace_back(each.host, each.port);
    if (!server.path.empty())
        config.root = '/' + server.path;
    config.user = server.user;
    config.password = url.secret("password", server.password);
    config.domain = url.option("domain");
    config.form = form_in(url);
    config.tick = url.milliseconds("tick_ms", config.tick);
    config.connect_max = url.milliseconds("connect_max_ms", config.connect_max);
    config.paths_max = url.number("paths_max_bytes", config.paths_max);
    return config;
}

std::unique_ptr<store> open_zookeeper(const store_url& url) {
    return make_zookeeper_store(config_of(url));
}

}  // namespace

std::unique_ptr<store> make_zookeeper_store(zookeeper_store_config config) {
    store_detail::ensemble_access servers;
    servers.make_session = [](auto strand, auto time, auto how, auto to) {
        return std::make_shared<zookeeper_detail::zk_handle>(
            std::move(strand), std::move(time), std::move(how), std::move(to)
        );
    };
    servers.probe = &store_detail::probe_server;
    return store_detail::make_zookeeper_store(std::move(config), std::move(servers));
}

std::unique_ptr<store>
store_detail::make_zookeeper_store(zookeeper_store_config config, ensemble_access servers) {
    check(config);
    return std::make_unique<zookeeper_store>(std::move(config), std::move(servers));
}

zookeeper_store_config parse_zookeeper_url(std::string_view text) {
    return config_of(parse_url_of(text, &is_zookeeper_scheme, "zookeeper"));
}

}  // namespace mortise

constinit const mortise::store_detail::store_opener mortise_zookeeper_opener{
    &mortise::is_zookeeper_scheme, "zookeeper://HOST,HOST/ROOT", &mortise::open_zookeeper};
