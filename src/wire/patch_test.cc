#include "wire/patch.h"

#include <gtest/gtest.h>

namespace once::wire {
namespace {

// The patched document, or "CODE: message".
std::string applied(const Result<Patch>& patch, std::string_view document) {
  if (!patch) return "no patch: " + patch.error().message;
  const Result<std::string> patched = (*patch)(document);
  return patched ? *patched
                 : std::string(name_of(patched.error().code)) + ": " + patched.error().message;
}

std::string merged(std::string_view document, std::string_view patch) {
  return applied(merge_patch(patch), document);
}

// `operations` without the brackets around them.
std::string patched(std::string_view document, const std::string& operations) {
  return applied(json_patch("[" + operations + "]"), document);
}

TEST(MergePatch, SetsMembersAndNullRemovesThem) {
  EXPECT_EQ(merged(R"({"a":1,"b":2})", R"({"a":3,"b":null,"c":[null]})"), R"({"a":3,"c":[null]})");
  EXPECT_EQ(merged(R"({"a":{"x":1,"y":2}})", R"({"a":{"y":null,"z":3}})"),
            R"({"a":{"x":1,"z":3}})");
  EXPECT_EQ(merged(R"({"a":1})", "{}"), R"({"a":1})");
  EXPECT_EQ(merged("{}", R"({"a":{"b":{"c":null}}})"), R"({"a":{"b":{}}})");
}

TEST(MergePatch, WhatIsNoObjectReplacesTheWhole) {
  EXPECT_EQ(merged(R"({"a":1})", "[1]"), "[1]");
  EXPECT_EQ(merged(R"({"a":1})", "null"), "null");
  EXPECT_EQ(merged("[1,2]", R"({"a":1,"b":null})"), R"({"a":1})");
  EXPECT_EQ(merged(R"({"a":[1,2]})", R"({"a":[3]})"), R"({"a":[3]})");
}

TEST(JsonPatch, AddsToObjectsAndArrays) {
  EXPECT_EQ(patched(R"({"a":1})", R"({"op":"add","path":"/b","value":2})"), R"({"a":1,"b":2})");
  EXPECT_EQ(patched(R"({"a":1})", R"({"op":"add","path":"/a","value":null})"), R"({"a":null})");
  EXPECT_EQ(patched("[1,3]", R"({"op":"add","path":"/1","value":2})"), "[1,2,3]");
  EXPECT_EQ(patched("[1]", R"({"op":"add","path":"/1","value":2})"), "[1,2]");
  EXPECT_EQ(patched("[1]", R"({"op":"add","path":"/-","value":[2]})"), "[1,[2]]");
  EXPECT_EQ(patched("[1]", R"({"op":"add","path":"","value":"new"})"), R"("new")");
}

TEST(JsonPatch, RemovesReplacesMovesAndCopies) {
  EXPECT_EQ(patched(R"({"a":[1,2]})", R"({"op":"remove","path":"/a/0"})"), R"({"a":[2]})");
  EXPECT_EQ(patched(R"({"a":1,"b":2})", R"({"op":"remove","path":"/a"})"), R"({"b":2})");
  EXPECT_EQ(patched("[1]", R"({"op":"replace","path":"/0","value":{}})"), "[{}]");
  EXPECT_EQ(patched("[1]", R"({"op":"replace","path":"","value":2})"), "2");
  EXPECT_EQ(patched(R"({"a":{"b":1}})", R"({"op":"move","from":"/a/b","path":"/c"})"),
            R"({"a":{},"c":1})");
  EXPECT_EQ(patched("[1,2,3]", R"({"op":"move","from":"/0","path":"/2"})"), "[2,3,1]");
  EXPECT_EQ(patched(R"({"a":1})", R"({"op":"move","from":"/a","path":"/a"})"), R"({"a":1})");
  EXPECT_EQ(patched(R"({"a":1})", R"({"op":"copy","from":"","path":"/b"})"),
            R"({"a":1,"b":{"a":1}})");
}

TEST(JsonPatch, PointersAreUnescapedAndMayBeEmptyNames) {
  EXPECT_EQ(patched(R"({"a/b":1,"m~n":2,"":3})",
                    R"({"op":"remove","path":"/a~1b"},{"op":"remove","path":"/m~0n"},)"
                    R"({"op":"replace","path":"/","value":4})"),
            R"({"":4})");
  EXPECT_EQ(patched(R"({"~1":5})", R"({"op":"remove","path":"/~01"})"), "{}");
}

TEST(JsonPatch, TestsByValue) {
  const auto tested = [](std::string_view document, const std::string& value) {
    return patched(document, R"({"op":"test","path":"","value":)" + value + "}") == document;
  };
  EXPECT_TRUE(tested(R"({"a":[1,{}],"b":null})", R"({"b":null,"a":[1,{}]})"));
  EXPECT_TRUE(tested("1", "1.0"));
  EXPECT_FALSE(tested("1", R"("1")"));
  EXPECT_FALSE(tested("[1,2]", "[2,1]"));
  EXPECT_FALSE(tested(R"({"a":1})", R"({"b":1})"));
  EXPECT_FALSE(tested("null", "false"));
  EXPECT_FALSE(tested("18446744073709551615", "-1"));
  EXPECT_FALSE(tested("9007199254740993", "9007199254740992.0"));
}

TEST(JsonPatch, OneOperationThatDoesNotApplyRefusesThemAll) {
  EXPECT_EQ(patched(R"({"a":1})",
                    R"({"op":"add","path":"/b","value":2},{"op":"test","path":"/a","value":2})"),
            "invalid: operation 1 does not apply: another value is at its path");
}

TEST(JsonPatch, WhatIsNotThereIsNotChanged) {
  const char* const operations[] = {R"({"op":"remove","path":"/x"})",
                                    R"({"op":"remove","path":"/a/2"})",
                                    R"({"op":"remove","path":"/a/-"})",
                                    R"({"op":"remove","path":"/s/x"})",
                                    R"({"op":"remove","path":"/n/x"})",
                                    R"({"op":"replace","path":"/x","value":1})",
                                    R"({"op":"replace","path":"/a/2","value":1})",
                                    R"({"op":"add","path":"/x/y","value":1})",
                                    R"({"op":"add","path":"/s/y","value":1})",
                                    R"({"op":"add","path":"/n/y","value":1})",
                                    R"({"op":"add","path":"/s/-","value":1})",
                                    R"({"op":"add","path":"/s/0","value":1})",
                                    R"({"op":"add","path":"/n/-","value":1})",
                                    R"({"op":"add","path":"/a/3","value":1})",
                                    R"({"op":"add","path":"/a/01","value":1})",
                                    R"({"op":"add","path":"/a/+1","value":1})",
                                    R"({"op":"add","path":"/a/x","value":1})",
                                    R"({"op":"add","path":"/a/99999999999999999999","value":1})",
                                    R"({"op":"test","path":"/x","value":null})",
                                    R"({"op":"move","from":"/x","path":"/y"})",
                                    R"({"op":"move","from":"/x","path":"/x"})",
                                    R"({"op":"copy","from":"/x","path":"/y"})"};
  for (const std::string operation : operations) {
    EXPECT_EQ(patched(R"({"a":[1,2],"s":"text","n":null})", operation),
              "invalid: operation 0 does not apply: there is nothing at its path")
        << operation;
  }
}

TEST(JsonPatch, NothingMovesIntoItselfAndNoDocumentIsRemoved) {
  EXPECT_EQ(patched("[[1],[2]]", R"({"op":"move","from":"/0","path":"/0/0"})"),
            "invalid: operation 0 does not apply: nothing moves into itself");
  EXPECT_EQ(patched("[1]", R"({"op":"remove","path":""})"),
            "invalid: operation 0 does not apply: a document is not removed by a patch");
}

TEST(JsonPatch, AMoveToTheSamePlaceChangesNothing) {
  for (const char* operation :
       {R"({"op":"move","from":"","path":""})", R"({"op":"move","from":"/a","path":"/a"})",
        R"({"op":"move","from":"/a/1","path":"/a/1"})"}) {
    EXPECT_EQ(patched(R"({"a":[1,2]})", operation), R"({"a":[1,2]})") << operation;
  }
}

TEST(JsonPatch, WhatIsNoPatchIsRefusedAtOnce) {
  for (const char* text :
       {"", "{}", "1", "[1]", "[{}]", R"([{"op":"add","path":"/a"}])",
        R"([{"op":"add","value":1}])", R"([{"op":"replace","path":"/a"}])",
        R"([{"op":"test","path":"/a"}])", R"([{"op":"move","path":"/a"}])",
        R"([{"op":"copy","path":"/a","from":1}])", R"([{"op":"grow","path":"/a"}])",
        R"([{"op":1,"path":"/a"}])", R"([{"op":"remove","path":"a"}])",
        R"([{"op":"remove","path":"/a~2"}])", R"([{"op":"remove","path":"/a~"}])",
        R"([{"op":"remove","path":"/a"}] x)"}) {
    EXPECT_FALSE(json_patch(text)) << text;
  }
  EXPECT_TRUE(json_patch("[]"));
  EXPECT_TRUE(json_patch(R"([{"op":"remove","path":"/a","comment":"why"}])"));
}

TEST(Patches, NumbersAreNeverRoundedToFit) {
  const std::string exact = R"({"a":9223372036854775807,"b":-9223372036854775808,)"
                            R"("c":18446744073709551615,"d":0.1})";
  EXPECT_EQ(merged(exact, "{}"), exact);
  EXPECT_FALSE(merge_patch(R"({"a":123456789012345678901234567890})"));
  EXPECT_EQ(merged(R"({"a":123456789012345678901234567890})", "{}"),
            "invalid: the document cannot be patched: the JSON is a number that is none, or beyond "
            "64 bits");
}

TEST(Patches, ADocumentThatIsNotJsonIsNotPatched) {
  for (const char* document : {"", "text", "{", "\"\xff\"", "{} {}"}) {
    EXPECT_TRUE(merged(document, "{}").starts_with("invalid: the document cannot be patched"));
    EXPECT_TRUE(patched(document, "").starts_with("invalid: the document cannot be patched"));
  }
}

// What comes out can be read again, however deep it was pushed.
TEST(Patches, NothingNestsDeeperThanCanBeRead) {
  std::string document = "[]";
  std::string path;
  int deepest = 0;
  for (int depth = 0; depth < 150; ++depth) {
    const std::string next =
        patched(document, R"({"op":"add","path":")" + path + R"(/-","value":[]})");
    if (next.starts_with("invalid")) break;
    EXPECT_EQ(merged(next, R"({"unlike":1})"), R"({"unlike":1})");
    document = next;
    path += "/0";
    deepest = depth;
  }
  EXPECT_GT(deepest, 90);
  EXPECT_LT(deepest, 100);
  EXPECT_TRUE(patched(R"({"a":)" + document.substr(1, document.size() - 2) + "}",
                      R"({"op":"copy","from":"","path":"/a/0/0/-"})")
                  .starts_with("invalid: operation 0 does not apply: the document would nest"));
}

TEST(Patches, WhatAPatchPushedAsDeepAsItMayCanBePatchedAgain) {
  std::string document = R"({"a":1})";
  int copies = 0;
  for (; copies < 150; ++copies) {
    const std::string next = patched(document, R"({"op":"copy","from":"","path":"/n"})");
    if (next.starts_with("invalid")) break;
    document = next;
    ASSERT_TRUE(merged(document, R"({"z":1})").ends_with(R"("z":1})")) << copies;
  }
  EXPECT_GT(copies, 90);
  EXPECT_LT(copies, 100);
}

TEST(Patches, DoublingAgainAndAgainEndsSoon) {
  std::string operations = R"({"op":"test","path":"/0","value":1})";
  for (int i = 0; i < 90; ++i) operations += R"(,{"op":"copy","from":"","path":"/-"})";
  EXPECT_TRUE(patched("[1]", operations).find("too much work") != std::string::npos);
  const std::string text(1U << 20, 'x');
  operations = R"({"op":"test","path":"/1","value":1})";
  for (int i = 0; i < 200; ++i) operations += R"(,{"op":"copy","from":"/0","path":"/-"})";
  EXPECT_TRUE(patched("[\"" + text + "\",1]", operations).starts_with("too_large: operation 6"));
}

TEST(Patches, InsertingBeforeAMillionEndsSoon) {
  std::string document = "[0";
  for (int i = 1; i < 1'000'000; ++i) document += ",0";
  std::string operations = R"({"op":"test","path":"/0","value":0})";
  for (int i = 0; i < 9'000; ++i) operations += R"(,{"op":"add","path":"/0","value":1})";
  EXPECT_TRUE(patched(document + "]", operations).starts_with("too_large"));
  operations.clear();
  for (int i = 0; i < 10'001; ++i) operations += R"({"op":"remove","path":"/0"},)";
  operations.pop_back();
  EXPECT_EQ(patched("[]", operations), "no patch: a patch has at most 10000 operations");
}

// A patch of a kilobyte kept the thread that all share for seconds.
TEST(Patches, OneThatCopiesOrHasManyOperationsIsKnownToTakeLong) {
  constexpr std::size_t kLong = 64U << 10;
  const auto weight_of = [](const std::string& operation, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += (i > 0 ? "," : "") + operation;
    return json_patch("[" + all + "]").value().weight;
  };
  const std::string copy = R"({"op":"copy","from":"/a","path":"/a/-"})";
  EXPECT_LT(weight_of(copy, 1), kLong);
  EXPECT_GT(weight_of(copy, 2), kLong);
  const std::string add = R"({"op":"add","path":"/a/0","value":1})";
  EXPECT_LT(weight_of(add, 10), kLong);
  EXPECT_GT(weight_of(add, 100), kLong);
}

}  // namespace
}  // namespace once::wire
