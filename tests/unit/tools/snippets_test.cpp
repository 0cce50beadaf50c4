// SPDX-License-Identifier: BSL-1.0
// Code in the documents is cut out of the examples, which are compiled. A block follows a line
// `<!-- examples/FILE.cpp [NAME] -->`; the part of the file lies between `//[NAME` and `//]`.
// And the tests and models that docs/guarantees.md and docs/cancellation.md name are there.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace mortise::tool {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(std::istream& in) {
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

/// Returns the text between two lines, without these; nothing if one of them is missing.
std::optional<std::string> between(
    const std::vector<std::string>& lines,
    std::size_t from,
    const std::string& first,
    const std::string& last
) {
    std::string text;
    bool inside = false;
    for (std::size_t i = from; i < lines.size(); ++i) {
        if (inside && lines[i] == last)
            return text;
        if (inside)
            text += lines[i] + '\n';
        inside = inside || lines[i] == first;
    }
    return std::nullopt;
}

struct snippet {
    std::string file;
    std::string name;
    std::optional<std::string> shown;
};

std::vector<snippet> snippets_of(const std::vector<std::string>& lines) {
    std::vector<snippet> found;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (!lines[i].starts_with("<!-- examples/"))
            continue;
        std::istringstream words(lines[i]);
        std::string mark;
        snippet one;
        words >> mark >> one.file >> one.name;
        one.name = one.name.substr(1, one.name.size() - 2);
        one.shown = between(lines, i, "```cpp", "```");
        found.push_back(std::move(one));
    }
    return found;
}

TEST(Snippets, InTheDocumentsAreThoseOfTheExamples) {
    const fs::path root(MORTISE_SOURCE_DIR);
    std::vector<fs::path> pages{root / "README.md"};
    for (const auto& entry : fs::recursive_directory_iterator(root / "docs"))
        if (entry.path().extension() == ".md")
            pages.push_back(entry.path());
    std::size_t compared = 0;
    for (const fs::path& page : pages) {
        std::ifstream text(page);
        for (const snippet& one : snippets_of(lines_of(text))) {
            std::ifstream example(root / one.file);
            const auto compiled = between(lines_of(example), 0, "//[" + one.name, "//]");
            ASSERT_TRUE(compiled) << page << ": " << one.file << " has no part " << one.name;
            EXPECT_EQ(one.shown, compiled) << page << ": " << one.file;
            ++compared;
        }
    }
    EXPECT_GE(compared, 1u);
}

/// Whether the file has a test of that name, which is "Case" or "Suite.Case".
bool has_test(const fs::path& file, const std::string& name) {
    std::ifstream in(file);
    std::ostringstream text;
    text << in.rdbuf();
    const std::size_t dot = name.find('.');
    const std::string suite = dot == std::string::npos ? "[A-Za-z]+" : name.substr(0, dot);
    const std::string test = dot == std::string::npos ? name : name.substr(dot + 1);
    return std::regex_search(
        text.str(), std::regex("TEST(_F|_P)?\\(" + suite + ",\\s*" + test + "\\)")
    );
}

/// Whether that is the model, and the name of the test that searches it.
bool is_model(const fs::path& file, const std::string& name) {
    return fs::exists(file) && name == "models." + file.stem().string();
}

/// Whether that is a program which is run as a test of that name.
bool is_program(const fs::path& file, const std::string& name) {
    std::ifstream in(fs::path(MORTISE_SOURCE_DIR) / "tests/CMakeLists.txt");
    std::ostringstream text;
    text << in.rdbuf();
    return fs::exists(file) && text.str().find("add_test(NAME " + name + ' ') != std::string::npos;
}

TEST(Guarantees, NameTestsThatExist) {
    const fs::path root(MORTISE_SOURCE_DIR);
    const std::regex link(R"(\[`([A-Za-z0-9._]+)`\]\(\.\./(tests/[^)]+)\))");
    std::size_t named = 0;
    std::size_t models = 0;
    for (const char* const name : {"docs/guarantees.md", "docs/cancellation.md"}) {
        std::ifstream page(root / name);
        for (const std::string& line : lines_of(page)) {
            for (std::sregex_iterator at(line.begin(), line.end(), link), end; at != end; ++at) {
                const fs::path file = root / (*at)[2].str();
                const bool model = file.extension() == ".pml";
                const std::string test = (*at)[1];
                EXPECT_TRUE(
                    model ? is_model(file, test) : has_test(file, test) || is_program(file, test)
                ) << name
                  << ": " << (*at)[1] << " in " << (*at)[2];
                ++(model ? models : named);
            }
        }
    }
    EXPECT_GT(named, 60u);
    EXPECT_GT(models, 4u);
    EXPECT_TRUE(is_model(root / "tests/models/hand_off.pml", "models.hand_off"));
    EXPECT_FALSE(is_model(root / "tests/models/hand_off.pml", "models.hand_over"));
    EXPECT_FALSE(is_model(root / "tests/models/none.pml", "models.none"));
    EXPECT_FALSE(is_program(root / "tests/storm/storm_main.cpp", "process.calm"));
    EXPECT_FALSE(is_program(root / "tests/storm/none.cpp", "process.storm"));
    EXPECT_FALSE(
        has_test(root / "tests/unit/tools/snippets_test.cpp", "Guarantees.NameATestThatIsNot")
    );
    EXPECT_TRUE(
        has_test(root / "tests/unit/tools/snippets_test.cpp", "Guarantees.NameTestsThatExist")
    );
}

TEST(Snippets, AreFoundInAPage) {
    std::istringstream page("text\n<!-- examples/a.cpp [part] -->\n```cpp\nint a;\n```\n");
    const std::vector<snippet> found = snippets_of(lines_of(page));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].file, "examples/a.cpp");
    EXPECT_EQ(found[0].name, "part");
    EXPECT_EQ(found[0].shown, "int a;\n");
    std::istringstream cut("<!-- examples/a.cpp [part] -->\n```cpp\nint a;\n");
    EXPECT_EQ(snippets_of(lines_of(cut)).at(0).shown, std::nullopt);
}

}  // namespace
}  // namespace mortise::tool
