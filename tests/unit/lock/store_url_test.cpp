// SPDX-License-Identifier: BSL-1.0
#include "mortise/error.hpp"
#include "url/store_url.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace mortise::store_url_test {
namespace {

TEST(StoreUrl, SplitsSchemeAndPath) {
    const auto url = store_url::parse("sqlite:/var/lib/locks.db");
    EXPECT_EQ(url.scheme, "sqlite");
    EXPECT_EQ(url.path, "/var/lib/locks.db");
    EXPECT_EQ(url.text, "sqlite:/var/lib/locks.db");
    EXPECT_EQ(store_url::parse("memory:").path, "");
    EXPECT_EQ(store_url::parse("sqlite:C:/x").path, "C:/x")
        << "only the first colon is the scheme's";
    EXPECT_EQ(store_url::parse("sqlite:a=b").path, "a=b");
}

TEST(StoreUrl, DecodesPathAndOptions) {
    const auto url = store_url::parse("sqlite:a%20b%3F%23%25%26?dom%61in=%C3%a4%3d&n=a=b");
    EXPECT_EQ(url.path, "a b?#%&");
    EXPECT_EQ(url.option("domain"), "\xC3\xA4=");
    EXPECT_EQ(url.option("n"), "a=b");
    EXPECT_EQ(url.option("absent"), "");
}

TEST(StoreUrl, TakesAQuestionMarkWithoutOptions) {
    EXPECT_EQ(store_url::parse("sqlite:x?").path, "x");
}

TEST(StoreUrl, ReadsWholeNumbers) {
    const auto url = store_url::parse("sqlite:x?a=0&b=18446744073709551615&c=007");
    EXPECT_EQ(url.number("a", 5), 0u);
    EXPECT_EQ(url.number("b", 5), ~std::size_t{0});
    EXPECT_EQ(url.number("c", 5), 7u);
    EXPECT_EQ(url.number("absent", 5), 5u);
}

TEST(StoreUrl, ReadsFlags) {
    const auto url = store_url::parse("sqlite:x?a=true&b=1&c=false&d=0");
    EXPECT_TRUE(url.flag("a"));
    EXPECT_TRUE(url.flag("b"));
    EXPECT_FALSE(url.flag("c"));
    EXPECT_FALSE(url.flag("d"));
    EXPECT_FALSE(url.flag("absent"));
}

// The rest of what is refused is in bad_input_test.cpp, by way of open_store.
template <class Use>
void expect_refused(std::string_view text, Use use, std::string_view remedy) {
    try {
        use(store_url::parse(text));
        ADD_FAILURE() << "took " << text;
    } catch (const error& wrong) {
        EXPECT_EQ(wrong.code(), errc::bad_url);
        EXPECT_EQ(wrong.value(), "\"" + std::string(text) + "\"");
        EXPECT_NE(wrong.remedy().find(remedy), std::string::npos) << wrong.what();
    }
}

TEST(StoreUrl, RefusesWhatIsNoWholeNumber) {
    for (const char* value : {"", "x", "1x", "-1", "+1", "%201", "1.5", "18446744073709551616"}) {
        expect_refused(
            std::string("sqlite:x?n=") + value,
            [](const store_url& url) { url.number("n", 1); },
            "give the option n a whole number"
        );
    }
}

TEST(StoreUrl, RefusesWhatIsNoFlag) {
    for (const char* value : {"", "yes", "TRUE", "2", "truex"}) {
        expect_refused(
            std::string("sqlite:x?f=") + value,
            [](const store_url& url) { url.flag("f"); },
            "give the option f the value true or false"
        );
    }
}

TEST(StoreUrl, RefusesOptionsThatNobodyKnows) {
    const auto use = [](const store_url& url) { url.allow_options({"domain", "size"}); };
    use(store_url::parse("sqlite:x?size=1&domain=a"));
    use(store_url::parse("sqlite:x"));
    expect_refused("sqlite:x?domian=a", use, "no option \"domian\"");
    expect_refused("sqlite:x?Domain=a", use, "no option \"Domain\"");
}

TEST(StoreUrl, ShowsNotMoreThan200BytesOfALongText) {
    const std::string text = "sqlite:" + std::string(9'000, 'x');
    try {
        store_url::parse(text);
        ADD_FAILURE();
    } catch (const error& wrong) {
        EXPECT_EQ(wrong.value(), "\"" + text.substr(0, 200) + "\"");
    }
    EXPECT_EQ(store_url::parse(text.substr(0, 8'192)).path.size(), 8'192u - 7u);
}

// Any input is taken or refused, and nothing else happens; UBSan and ASan watch.
TEST(StoreUrl, SurvivesEveryCutAndEveryChangedByte) {
    const std::string good = "sqlite:a%20b?domain=shop%23&checkpoint_bytes=10";
    const auto survives = [](const std::string& text) {
        try {
            const auto url = store_url::parse(text);
            EXPECT_EQ(url.text, text);
            EXPECT_FALSE(url.scheme.empty());
        } catch (const error& wrong) {
            EXPECT_EQ(wrong.code(), errc::bad_url);
            EXPECT_FALSE(wrong.remedy().empty());
        }
    };
    for (std::size_t at = 0; at < good.size(); ++at) {
        survives(good.substr(0, at));
        survives(good.substr(at));
        for (const char other : {'\0', '%', '?', '&', '=', ':', '#', '\n', '\xFF'}) {
            std::string changed = good;
            changed[at] = other;
            survives(changed);
        }
    }
}

}  // namespace
}  // namespace mortise::store_url_test
