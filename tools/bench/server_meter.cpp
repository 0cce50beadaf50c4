// SPDX-License-Identifier: BSL-1.0
#include "bench/server_meter.hpp"

#include "bench/run_control.hpp"
#include "mortise/coro/clock.hpp"

#include <initializer_list>

namespace mortise::tool {

std::unique_ptr<server_meter> server_meter::of(const std::string& store) {
    using maker = std::unique_ptr<server_meter> (*)(const std::string&);
    // Of the stores that this program was built with; others refuse the URL with a better message.
    const std::initializer_list<maker> makers = {
#ifdef MORTISE_METERS_REDIS
        &make_redis_meter,
#endif
#ifdef MORTISE_METERS_POSTGRES
        &make_postgres_meter,
#endif
#ifdef MORTISE_METERS_MYSQL
        &make_mysql_meter,
#endif
#ifdef MORTISE_METERS_ZOOKEEPER
        &make_zookeeper_meter,
#endif
    };
    for (const maker make : makers) {
        if (auto meter = make(store))
            return meter;
    }
    return nullptr;
}

double blocking_meter::exchanges_per_s(std::chrono::milliseconds span) {
    std::uint64_t exchanges = 0;
    const clock::time_point begin = clock::now();
    clock::duration passed{};
    do {
        exchange_once();
        interruption::check();
        ++exchanges;
        passed = clock::now() - begin;
    } while (passed < span);
    return static_cast<double>(exchanges) / std::chrono::duration<double>(passed).count();
}

echo_count blocking_meter::echo_for(const std::string& channel, std::chrono::milliseconds span) {
    echo_count found;
    const clock::time_point begin = clock::now();
    while (found.took < span) {
        echo_once(channel);
        found.one_way += 2;
        found.took = clock::now() - begin;
    }
    end_echo(channel);
    return found;
}

void blocking_meter::echo_once(const std::string& channel) {
    publish(channel, echo);
    hear();
    interruption::check();
}

void blocking_meter::end_echo(const std::string& channel) {
    publish(channel, last_echo);
}

void blocking_meter::echo_back(const std::string& channel) {
    for (std::string word = hear(); word != last_echo; word = hear())
        publish(channel, echo);
}

}  // namespace mortise::tool
