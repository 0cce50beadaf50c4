// SPDX-License-Identifier: BSL-1.0
#include "failure_classes.hpp"

#include <librdkafka/rdkafka.h>

namespace mortise::kafka::detail {

bool passes_by_itself(int code) noexcept {
    switch (code) {
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__WAIT_COORD:
    case RD_KAFKA_RESP_ERR__WAIT_CACHE:
    case RD_KAFKA_RESP_ERR__QUEUE_FULL:
    case RD_KAFKA_RESP_ERR__RETRY:
    case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
    case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
    case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
    case RD_KAFKA_RESP_ERR_NOT_CONTROLLER:
    case RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS:
    case RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR:
    case RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED:
        return true;
    default:
        return false;
    }
}

bool passes_with_a_leader(int code) noexcept {
    return passes_by_itself(code) || code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
}

bool is_of_class(int code, condition wanted) noexcept {
    switch (wanted) {
    case condition::fenced:
        return code == RD_KAFKA_RESP_ERR__FENCED || code == RD_KAFKA_RESP_ERR_PRODUCER_FENCED ||
               code == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH;
    case condition::not_authorized:
        return code == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
               code == RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED ||
               code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
               code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ||
               code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED ||
               code == RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
    case condition::too_large:
        return code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
               code == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE;
    case condition::unknown_topic:
        return code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
               code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
               code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
    }
    return false;
}

blame blame_of_delivery(int code) noexcept {
    switch (code) {
    // A broker takes or refuses the records for one partition that came together as a whole.
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
        return blame::neighbour;
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
        return blame::topic;
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
        return blame::record;
    default:
        return blame::none;
    }
}

blame blame_of_call(int code) noexcept {
    if (code == RD_KAFKA_RESP_ERR__INVALID_ARG)
        return blame::record;
    const blame of_delivery = blame_of_delivery(code);
    return of_delivery == blame::neighbour ? blame::record : of_delivery;
}

bool blames_topic(int code) noexcept {
    return is_of_class(code, condition::unknown_topic) ||
           code == RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION ||
           code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
}

remedy remedy_of(const call_failure& failure) noexcept {
    if (failure.fatal || is_of_class(failure.code, condition::fenced))
        return remedy::give_up;
    if (failure.abortable)
        return remedy::abort;
    return failure.retriable ? remedy::resume : remedy::give_up;
}

}  // namespace mortise::kafka::detail
