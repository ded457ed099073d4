#include "cli/cli_fixture.h"

namespace once::cli {
namespace {

class DocVerbs : public Cli {
 protected:
  std::string etag(const std::string& key) const {
    std::string etag = once("doc get " + key + " --field etag").out;
    etag.pop_back();
    return etag;
  }
};

TEST_F(DocVerbs, ADocumentIsCreatedOnceAndComesBackAsItIs) {
  EXPECT_TRUE(once("doc put d --create 'Hello, you'").out.starts_with("created, etag "));
  EXPECT_EQ(once("doc get d").out, "Hello, you");
  const Outcome again = once("doc put d --if-none-match '*' other");
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_TRUE(holds(again.err, "(key: d, current: " + etag("d") + ")")) << again.err;
  EXPECT_EQ(once("doc get none").exit_code, 1);
}

TEST_F(DocVerbs, OnlyTheOneThatStandsIsReplacedOrRemoved) {
  once("doc put d --create 1");
  const std::string first = etag("d");
  EXPECT_TRUE(once("doc put d 2 --if-match " + first).out.starts_with("replaced, etag "));
  EXPECT_EQ(once("doc put d 3 --if-match " + first).exit_code, 1);
  EXPECT_EQ(once("doc rm d --if-match " + first).exit_code, 1);
  EXPECT_EQ(once("doc rm d --if-match '\"" + etag("d") + "\"'").exit_code, 0);
  EXPECT_EQ(once("doc get d").exit_code, 1);
}

TEST_F(DocVerbs, WithoutAConditionNothingIsChanged) {
  EXPECT_EQ(once("doc put d 1").exit_code, 64);
  EXPECT_EQ(once("doc put d 1 --create --if-match x").exit_code, 64);
  EXPECT_EQ(once("doc rm d").exit_code, 64);
  EXPECT_EQ(once("doc put d 1 --if-none-match x").exit_code, 64);
}

TEST_F(DocVerbs, TheBodyIsAWordAFileOrStandardInput) {
  write("body", "from a file");
  once("doc put file --create --file body");
  EXPECT_EQ(once("doc get file").out, "from a file");
  EXPECT_EQ(shell("printf 'a\\0b\\377' | once doc put bytes --create").exit_code, 0);
  EXPECT_EQ(once("doc get bytes").out, std::string("a\0b\xff", 4));
  EXPECT_EQ(shell("head -c 3000000 /dev/zero | once doc put large --create --file -").exit_code, 0);
  EXPECT_EQ(shell("once doc get large | wc -c").out, "3000000\n");
  EXPECT_EQ(once("doc put d --create --file nowhere").exit_code, 64);
  EXPECT_EQ(once("doc put d --create word --file body").exit_code, 64);
}

TEST_F(DocVerbs, TheContentTypeIsGivenOrGuessed) {
  once("doc put json --create '{\"a\": 1}'");
  once("doc put text --create 'a: 1'");
  once("doc put own --create 'a: 1' --content-type application/yaml");
  shell("printf '\\377' | once doc put bytes --create");
  EXPECT_EQ(once("doc get json --field content_type").out, "application/json\n");
  EXPECT_EQ(once("doc get text --field content_type").out, "text/plain; charset=utf-8\n");
  EXPECT_EQ(once("doc get own --field content_type").out, "application/yaml\n");
  EXPECT_EQ(once("doc get bytes --field content_type").out, "application/octet-stream\n");
}

TEST_F(DocVerbs, ForMachinesADocumentIsAnObject) {
  once("doc put json --create '{\"a\": 1}'");
  EXPECT_EQ(once("doc get json --json").out,
            R"({"key":"json","etag":")" + etag("json") +
                R"(","content_type":"application/json","body":{"a":1}})" + "\n");
  const Outcome made = once("doc put other --create x --json");
  EXPECT_EQ(made.out, R"({"key":"other","etag":")" + etag("other") + "\"}\n");
}

TEST_F(DocVerbs, APatchIsMergedOrAListOfOperations) {
  once("doc put d --create '{\"a\":1,\"b\":2}'");
  EXPECT_EQ(once("doc patch d '{\"b\":null,\"c\":3}'").out, "{\"a\":1,\"c\":3}\n");
  EXPECT_EQ(shell("echo '[{\"op\":\"remove\",\"path\":\"/c\"}]' | once doc patch d").out,
            "{\"a\":1}\n");
  EXPECT_EQ(once("doc patch d '[{\"op\":\"remove\",\"path\":\"/c\"}]'").exit_code, 1);
  EXPECT_EQ(once("doc patch d '{}' --if-match 0000000000000001").exit_code, 1);
  EXPECT_EQ(once("doc patch none '{}'").exit_code, 1);
}

TEST_F(DocVerbs, AChangeUnderAnIdIsMadeOnce) {
  once("doc put d --create '{\"list\":[]}'");
  const std::string add = R"(doc patch d '[{"op":"add","path":"/list/-","value":1}]' --id x)";
  EXPECT_EQ(once(add).out, "{\"list\":[1]}\n");
  EXPECT_EQ(once(add).out, "{\"list\":[1]}\n");
  EXPECT_EQ(once("doc patch d '{}' --id x").exit_code, 1);
}

}  // namespace
}  // namespace once::cli
