// SPDX-License-Identifier: BSL-1.0
#include "store/zookeeper/server_words.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace mortise::store_detail::server_words_test {
namespace {

using namespace std::chrono_literals;

// As servers of 3.8 say it.
const std::string conf_of_a_server_alone = "clientPort=2181\n"
                                           "secureClientPort=-1\n"
                                           "dataDir=/data/tickTime=7\n"
                                           "tickTime=2000\n"
                                           "maxClientCnxns=60\n"
                                           "minSessionTimeout=4000\n"
                                           "maxSessionTimeout=40000\n"
                                           "clientPortListenBacklog=-1\n"
                                           "serverId=0\n";

TEST(ServerWords, SettingsOfAServerAlone) {
    const auto settings = parse_settings(conf_of_a_server_alone);
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->tick, 2s);
    EXPECT_EQ(settings->session_min, 4s);
    EXPECT_EQ(settings->session_max, 40s);
    EXPECT_EQ(settings->sync, 0s);
    EXPECT_EQ(settings->connections_max, 60u);
}

TEST(ServerWords, SettingsOfAMember) {
    const auto settings =
        parse_settings(conf_of_a_server_alone + "initLimit=10\r\nsyncLimit=5\r\nelectionAlg=3\r\n");
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->sync, 10s);
}

TEST(ServerWords, ARefusalTellsNothing) {
    const std::string refusal = " is not executed because it is not in the whitelist.\n";
    EXPECT_FALSE(parse_settings("conf" + refusal));
    EXPECT_FALSE(parse_state("srvr" + refusal));
    const std::string idle = "This ZooKeeper instance is not currently serving requests\n";
    EXPECT_FALSE(parse_settings(idle));
    EXPECT_FALSE(parse_state(idle));
    EXPECT_FALSE(parse_settings(""));
    EXPECT_FALSE(parse_state(""));
}

TEST(ServerWords, WhatIsCutOffOrNoNumberTellsNothing) {
    const auto& whole = conf_of_a_server_alone;
    const auto end =
        whole.find("maxSessionTimeout=40000") + std::string("maxSessionTimeout=").size();
    for (std::size_t size = 0; size <= end; ++size)
        EXPECT_FALSE(parse_settings(whole.substr(0, size))) << whole.substr(0, size);
    for (const char* const bad :
         {"tickTime=0", "tickTime=-1", "tickTime=2s", "tickTime=99999999999"})
        EXPECT_FALSE(
            parse_settings(std::string(bad) + "\nminSessionTimeout=4000\nmaxSessionTimeout=40000\n")
        ) << bad;
}

TEST(ServerWords, TheStateOfAServer) {
    const auto state = parse_state("Zookeeper version: 3.8.0-${mvngit.commit.id}, built on 2024\n"
                                   "Latency min/avg/max: 0/0.0/0\n"
                                   "Mode: follower\n"
                                   "Node count: 5\n");
    ASSERT_TRUE(state);
    EXPECT_EQ(state->version, "3.8.0");
    EXPECT_EQ(state->role, "follower");
}

TEST(ServerWords, ASessionIsAskedForAndEnded) {
    const auto wish = session_wish(std::chrono::milliseconds(0x01020304));
    EXPECT_EQ(wish.size(), 49u);
    EXPECT_EQ(wish.substr(0, 4), std::string("\0\0\0\x2d", 4)) << "the length of the rest";
    EXPECT_EQ(wish.substr(16, 4), std::string("\1\2\3\4", 4));
    const std::string end("\0\0\0\x08\0\0\0\x01\xff\xff\xff\xf5", 12);
    EXPECT_EQ(session_end(), end);
}

TEST(ServerWords, ATimeOutIsGrantedWithASessionOnly) {
    std::string answer("\0\0\0\x25\0\0\0\0\0\0\x0f\xa0\x01\0\0\0\0\0\0\0", 20);
    EXPECT_EQ(granted_timeout(answer), 4s);
    EXPECT_EQ(granted_timeout(answer + std::string(21, '\0')), 4s);
    EXPECT_FALSE(granted_timeout(answer.substr(0, 19)));
    auto without_session = answer;
    without_session[12] = '\0';
    EXPECT_FALSE(granted_timeout(without_session));
    auto negative = answer;
    negative[8] = '\xff';
    EXPECT_FALSE(granted_timeout(negative));
    EXPECT_FALSE(granted_timeout("HTTP/1.1 400 Bad Request")) << "no server of ZooKeeper";
}

}  // namespace
}  // namespace mortise::store_detail::server_words_test
