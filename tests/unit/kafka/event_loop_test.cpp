// SPDX-License-Identifier: BSL-1.0
// A client of librdkafka takes long to be made, as it reads certificates, and to be destroyed, as
// it waits for its threads. No event loop waits for either.
#include "mortise/kafka/inbox_consumer.hpp"
#include "mortise/kafka/kafka_sink.hpp"
#include "mortise/kafka/processor.hpp"
#include "mortise/outbox/inbox.hpp"
#include "support/eventually.hpp"
#include "support/kafka_broker.hpp"
#include "support/kafka_reader.hpp"
#include "unit/outbox/outbox_world.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::kafka_event_loop_test {
namespace {

thread_local bool is_event_loop = false;

std::atomic<int> clients_made{0};
std::atomic<int> made_on_loop{0};
std::atomic<int> destroyed_on_loop{0};

template <class Function>
Function real(const char* name) {
    return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// The library's own stand behind these.
extern "C" rd_kafka_t*
rd_kafka_new(rd_kafka_type_t type, rd_kafka_conf_t* conf, char* text, std::size_t size) {
    using function = rd_kafka_t* (*)(rd_kafka_type_t, rd_kafka_conf_t*, char*, std::size_t);
    static const auto make = real<function>("rd_kafka_new");
    ++clients_made;
    made_on_loop += is_event_loop ? 1 : 0;
    return make(type, conf, text, size);
}

extern "C" void rd_kafka_destroy(rd_kafka_t* client) {
    using function = void (*)(rd_kafka_t*);
    static const auto destroy = real<function>("rd_kafka_destroy");
    destroyed_on_loop += is_event_loop ? 1 : 0;
    destroy(client);
}

namespace {

class KafkaEventLoop : public outbox_world {
protected:
    KafkaEventLoop() {
        asio::post(site_.executor(), [] { is_event_loop = true; });
        shared_kafka().create_topic(topic_);
        shared_kafka().create_topic(products_);
    }

    /// Of the clients that `use` makes, at least so many.
    template <class Use>
    void expect_none_on_loop(int clients, Use use) {
        clients_made = made_on_loop = destroyed_on_loop = 0;
        use();
        EXPECT_GE(clients_made, clients);
        EXPECT_EQ(made_on_loop, 0);
        EXPECT_EQ(destroyed_on_loop, 0);
    }
    void relay_one() {
        kafka::kafka_sink_config sink((kafka::kafka_config(shared_kafka().address())));
        sink.progress_topic = fresh_name("progress");
        sink.progress_partitions = 1;
        outbox::relay_config how = config();
        how.sink = kafka::make_kafka_sink(sink);
        append(outbox::message(topic_, "key", "value"));
        start(how);
        drain();
        stop();
    }
    template <class Config>
    Config group_config() const {
        Config config(kafka::kafka_config(shared_kafka().address()), fresh_name("group"), {topic_});
        config.cluster.settings = {
            {"heartbeat.interval.ms", "100"},
            {"fetch.wait.max.ms", "50"},
            {"auto.offset.reset", "earliest"}};
        return config;
    }
    void consume_one() {
        db::sqlite_config database;
        database.path = folder_.path() / "inbox.db";
        const auto session = std::make_shared<db::sqlite>(site_.executor(), std::move(database));
        outbox::inbox_config how;
        how.handler = [](db::connection&, const outbox::received&) {
            return outbox::answer::done();
        };
        const auto inbox = std::make_shared<outbox::inbox>(site_.executor(), session, how);
        kafka::inbox_consumer consumer(
            site_.executor(), inbox, group_config<kafka::inbox_consumer_config>()
        );
        EXPECT_TRUE(eventually([&] { return inbox->stats().handled == 1; }));
        wait_for(consumer.async_stop(asio::use_future));
    }
    void process_one() {
        auto how = group_config<kafka::processor_config>();
        how.transactional_id = fresh_name("id");
        how.handler = [this](const kafka::consumed_record& source
                      ) -> asio::awaitable<std::vector<kafka::record>> {
            std::vector<kafka::record> products;
            products.emplace_back(products_, source.key, source.value);
            co_return products;
        };
        kafka::processor processor(site_.executor(), how);
        EXPECT_TRUE(eventually([&] {
            return kafka_reader(shared_kafka().address()).settled_values(products_).size() == 1;
        }));
        wait_for(processor.async_stop(asio::use_future));
    }

    const std::string topic_ = fresh_name("topic");
    const std::string products_ = fresh_name("products");
};

TEST_F(KafkaEventLoop, MakesAndDestroysNoClient) {
    expect_none_on_loop(2, [this] { relay_one(); });
    expect_none_on_loop(1, [this] { consume_one(); });
    expect_none_on_loop(2, [this] { process_one(); });
}

}  // namespace
}  // namespace mortise::test::kafka_event_loop_test
