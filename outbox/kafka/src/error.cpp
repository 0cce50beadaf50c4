// SPDX-License-Identifier: BSL-1.0
#include "mortise/kafka/error.hpp"

#include "failure_classes.hpp"

#include <librdkafka/rdkafka.h>

#include <string>

namespace mortise::kafka {
namespace {

class kafka_codes final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "kafka"; }
    std::string message(int value) const override {
        return ::rd_kafka_err2str(static_cast<rd_kafka_resp_err_t>(value));
    }
    bool
    equivalent(int value, const boost::system::error_condition& wanted) const noexcept override {
        if (wanted == mortise::condition::retryable)
            return detail::passes_by_itself(value);
        if (wanted.category() == condition_category())
            return detail::is_of_class(value, static_cast<condition>(wanted.value()));
        return error_category::equivalent(value, wanted);
    }
};

class own_codes final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "mortise.kafka"; }
    std::string message(int value) const override {
        switch (static_cast<errc>(value)) {
        case errc::uncertain:
            return "it is not known whether the transaction was committed: make a new producer of "
                   "the same transactional id, and read the mark";
        case errc::lost:
            return "the producer was lost before: make a new one";
        case errc::not_ready:
            return "the producer is not ready: call async_init first";
        case errc::topic_differs:
            return "the topic exists with other partitions or another clean-up policy: change it, "
                   "or use another";
        case errc::still_open:
            return "a transaction that is open hides the end of the partition: wait until its "
                   "producer has ended it, or its time is up";
        case errc::not_a_mark:
            return "the newest record in the place of the shard's mark is none: give the marks a "
                   "topic of their own, and say by a rebase where the shard goes on";
        case errc::offset_gone:
            return "the partition ends before that offset: the topic was made anew, or lost "
                   "records";
        case errc::offset_removed:
            return "the partition begins after that offset: retention has removed records that "
                   "were not dealt with";
        case errc::foreign_inbox:
            return "another inbox, in another database, deals with this consumer group, and what "
                   "it has done is not known here: let all members deliver to one database, or "
                   "give this one a group of its own";
        case errc::no_offset:
            return "the group has no offset for the partition, as the group is new or the offset "
                   "has expired: say auto.offset.reset=earliest to read all of it, or latest";
        }
        return "an error of the Kafka producer that is not known";
    }
};

class own_conditions final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "mortise.kafka.condition"; }
    std::string message(int value) const override {
        switch (static_cast<condition>(value)) {
        case condition::fenced:
            return "the transactional id belongs to another producer, or its transaction timed out";
        case condition::not_authorized:
            return "Kafka refuses the login, or what it may not do";
        case condition::too_large:
            return "a record is too large";
        case condition::unknown_topic:
            return "there is no such topic or partition";
        }
        return "a condition that is not known";
    }
};

}  // namespace

const boost::system::error_category& kafka_category() noexcept {
    static const kafka_codes category;
    return category;
}

error_code kafka_error(int code) noexcept {
    return {code, kafka_category()};
}

const boost::system::error_category& error_category() noexcept {
    static const own_codes category;
    return category;
}

const boost::system::error_category& condition_category() noexcept {
    static const own_conditions category;
    return category;
}

}  // namespace mortise::kafka
