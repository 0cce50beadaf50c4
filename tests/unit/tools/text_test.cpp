// SPDX-License-Identifier: BSL-1.0
// What the command reads and shows as text: durations, names, tables, URLs.

#include "common/default_store.hpp"
#include "common/failure.hpp"
#include "common/json.hpp"
#include "common/printable.hpp"
#include "common/text_table.hpp"
#include "common/time_text.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <sstream>

namespace mortise::tool {
namespace {

using namespace std::chrono_literals;

TEST(DurationText, ReadsNumbersWithAUnit) {
    EXPECT_EQ(parse_duration("--wait", "500ms"), 500ms);
    EXPECT_EQ(parse_duration("--wait", "10s"), 10s);
    EXPECT_EQ(parse_duration("--wait", "2m"), 2min);
    EXPECT_EQ(parse_duration("--wait", "1h"), 1h);
    EXPECT_EQ(parse_duration("--wait", "0"), 0ms);
}

TEST(DurationText, RefusesEverythingElse) {
    for (const char* text :
         {"",
          "10",
          "s",
          "1.5s",
          "10 s",
          "10S",
          "1d",
          "-1s",
          "0x10s",
          "10ss",
          "99999999999999999999s",
          "9000000000000000000h",
          "877000h"})
        EXPECT_THROW(parse_duration("--wait", text), failure) << text;
    EXPECT_EQ(parse_duration("--wait", "876000h"), 876'000h);  // nearly a hundred years
}

TEST(DurationText, IsShortForPeople) {
    EXPECT_EQ(duration_text(250ms), "250 ms");
    EXPECT_EQ(duration_text(59'999ms), "59 s");
    EXPECT_EQ(duration_text(60s), "1 min");
    EXPECT_EQ(duration_text(200s), "3 min 20 s");
    EXPECT_EQ(duration_text(2h + 5min), "2 h 5 min");
    EXPECT_EQ(duration_text(76h), "3 d 4 h");
    EXPECT_EQ(duration_text(1'999'999us), "1 s");
    EXPECT_EQ(duration_text(std::chrono::milliseconds::max()), "106751991167 d 7 h");
}

TEST(Printable, KeepsTextAndEscapesTheRest) {
    EXPECT_EQ(printable("plain"), "plain");
    EXPECT_EQ(printable("Grüße €"), "Grüße €");
    EXPECT_EQ(printable("a\\b"), "a\\\\b");
    EXPECT_EQ(printable("\x1b[31m\n\x7f"), "\\x1b[31m\\x0a\\x7f");
    EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");           // a control character beyond ASCII
    EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae");  // turns the direction of writing
    EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");           // not UTF-8, and cut short
    EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
    EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
    EXPECT_EQ(printable("one\ntwo\\", newlines::as_spaces), "one two\\");
}

TEST(Printable, KnowsUtf8AndItsWidth) {
    EXPECT_TRUE(valid_utf8("Grüße €\n"));
    EXPECT_FALSE(valid_utf8("\xff"));
    EXPECT_FALSE(valid_utf8("a\xe2\x82"));
    EXPECT_EQ(width_of("Grüße €"), 7u);
    EXPECT_EQ(hexadecimal(std::string("\0\xff", 2)), "00ff");
}

TEST(Json, GivesTheBytesOfWhatIsNotText) {
    json::object object;
    set_bytes(object, "name", "plain");
    set_bytes(object, "other", "\xff");
    EXPECT_EQ(json::serialize(object), R"({"name":"plain","other":"\\xff","other_hex":"ff"})");
}

TEST(TextTable, AlignsItsColumns) {
    text_table table({"NAME", "N"});
    table.align_right(1);
    table.add({"ü", "1"});
    table.add({"longer", "10"});
    table.add({"none"});
    std::ostringstream out;
    table.write(out);
    EXPECT_EQ(out.str(), "NAME     N\nü        1\nlonger  10\nnone\n");
}

TEST(SqliteUrl, GivesThePathBack) {
    for (const char* path : {"locks.db", "/var/lib/locks.db", "/a b/100%?#&.db", "/\xff.db"})
        EXPECT_EQ(sqlite_path(sqlite_url(path)), std::filesystem::path(path));
    EXPECT_EQ(sqlite_path("sqlite:a.db?domain=x"), std::filesystem::path("a.db"));
    EXPECT_EQ(sqlite_path("sqlite:a%2"), std::filesystem::path("a%2"));
    EXPECT_EQ(sqlite_path("memory:x"), std::nullopt);
}

}  // namespace
}  // namespace mortise::tool
