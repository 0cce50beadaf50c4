// SPDX-License-Identifier: BSL-1.0
#include "url/store_url.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mortise::without_passwords_test {
namespace {

TEST(WithoutPasswords, LeavesTheRestOfAUrlAsItIs) {
    for (const char* text :
         {"",
          "redis://h",
          "redis://h:6379/0?prefix=x",
          "redis://h?password_file=/etc/secret",
          "redis://h?password_env=VARIABLE",
          "redis+sentinel://a:1,b:2/main",
          "sqlite:a@b.db",
          "sqlite:/a//b@c.db?domain=x",
          "memory:a:b@c"})
        EXPECT_EQ(without_passwords(text), text);
}

TEST(WithoutPasswords, ShowsWhoAndWhere) {
    EXPECT_EQ(without_passwords("redis://user:pw@host:1/0?x=y"), "redis://user:***@host:1/0?x=y");
    EXPECT_EQ(without_passwords("redis://:pw@host"), "redis://:***@host");
    EXPECT_EQ(without_passwords("redis://h?a=1&password=pw&b=2"), "redis://h?a=1&password=***&b=2");
}

TEST(WithoutPasswords, HidesWhateverMayBeOne) {
    for (const char* text :
         {"redis://u:s3cret@h",
          "redis://:s3cret@h",
          "redis://s3cret@h",
          "redis://u:a@s3cret@h",
          "redis://u:a:s3cret@h",
          "redis://u:a/s3cret@h",
          "redis://u:s3cret//a@h",
          "redis://u:a?b=s3cret@h",
          "redis://u:s3cret#@h",
          "redis://u:s3cret@",
          "redis:///u:s3cret@h",
          "redis:/u:s3cret@h",
          "redis:u:s3cret@h",
          "redis:s3cret@h",
          "redis:u:s3cret//a@h",
          "REDIS://u:s3cret@h",
          "u:s3cret@h",
          "s3cret@h",
          "s3cret@h:6379",
          "//u:s3cret@h",
          "redis://h?password=s3cret",
          "redis://h?password=a@s3cret",
          "redis://h?password=a:s3cret",
          "redis://u:p@h?password=a@s3cret",
          "redis://u:password=a@s3cret",
          "redis://u:s3cretpassword=x@h",
          "redis://h?PassWord=s3cret",
          "redis://h?pass=s3cret",
          "redis://h?passwd=s3cret",
          "redis://h?pwd=s3cret",
          "redis+sentinel://h/m?sentinel_password=s3cret&password=s3cret",
          "sqlite:x?password=s3cret",
          "password=s3cret"}) {
        const auto shown = without_passwords(text);
        EXPECT_EQ(shown.find("s3cret"), std::string::npos) << text << " is shown as " << shown;
        EXPECT_NE(shown.find("***"), std::string::npos) << shown;
    }
}

TEST(WithoutPasswords, ChangesNothingMoreTheSecondTime) {
    for (const char* text :
         {"redis://u:p@h",
          "redis://h?password=a@b&c=d@e",
          "a@x://u:password=p@h",
          "a@b:c@d",
          "redis://a@b:password=c@d",
          "redis:u@h",
          "pwd=a&pwd=b@c",
          "redis://u:pass=pass=@h&x"}) {
        const auto once = without_passwords(text);
        EXPECT_EQ(without_passwords(once), once) << text;
    }
}

}  // namespace
}  // namespace mortise::without_passwords_test
