// What is found out at the start, and where a store's requests go.
#include <cstdlib>

#include "aws/signer.h"
#include "base/encoding.h"
#include "kernel/format.h"
#include "stores/s3/store_fixture.h"

namespace once::testing {
namespace {

class S3Opening : public S3Fixture {
 protected:
  static std::string complaint(const S3Options& options) {
    const auto store = open_s3(options);
    if (store) return "opened";
    return std::string(name_of(store.error().code)) + ": " + store.error().message;
  }

  // A prefix that nobody has opened.
  static S3Options fresh_options() { return S3Place().options(); }

  static std::string path_of(const S3Options& options, const std::string& name) {
    return "/" + options.bucket + "/" + options.prefix + "/" + name;
  }

  static void put_object(const std::string& path, std::string body) {
    const auto client = s3_client();
    ASSERT_EQ(s3_request(*client, {.method = "PUT", .path = path, .body = std::move(body)}).status,
              200);
  }

  // Whether it can be written to and read from, one item of any name.
  void expect_works(const S3Options& options) {
    const auto opened = open_s3(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    Store& store = **opened;
    const Key odd{{"a b+c%\xc3\xa9/../x", "//"}, 7};
    const Write write = fresh(put(odd, Bytes("v"), absent()));
    ASSERT_TRUE(is_committed(store.commit({&write, 1})));
    EXPECT_TRUE(store.get(odd).value().has_value());
    const auto scanned =
        store.scan({.partition = odd.partition, .direction = Direction::descending});
    ASSERT_TRUE(scanned.has_value()) << scanned.error().message;
    EXPECT_EQ(scanned->entries.size(), 1U);
    const auto listed = store.list({});
    ASSERT_TRUE(listed.has_value()) << listed.error().message;
    ASSERT_EQ(listed->items.size(), 1U);
    EXPECT_EQ(listed->items[0].key, odd);
    const Write over = fresh(put(odd, Bytes("w"), unchanged(write.version)));
    EXPECT_TRUE(is_committed(store.commit({&over, 1})));
  }
};

TEST_F(S3Opening, ABucketThatIsNotThereIsSaidSo) {
  S3Options options = fresh_options();
  options.bucket = "nobodys-bucket";
  EXPECT_EQ(complaint(options),
            "unavailable: there is no bucket \"nobodys-bucket\" in S3 here; make it first");
}

TEST_F(S3Opening, SomebodyElsesBucketIsDenied) {
  const S3Options options = fresh_options();
  ASSERT_EQ(::setenv("AWS_ACCESS_KEY_ID", CephS3::kStrangersKey, 1), 0);
  const std::string said = complaint(options);
  ::setenv("AWS_ACCESS_KEY_ID", "AKIANOBODY", 1);
  const std::string nobody = complaint(options);
  ::setenv("AWS_ACCESS_KEY_ID", CephS3::kAccessKey, 1);
  EXPECT_TRUE(said.starts_with("denied: bucket \"bucket\" is not ours to use: ")) << said;
  EXPECT_TRUE(nobody.starts_with("denied: bucket \"bucket\" is not ours to use: ")) << nobody;
}

TEST_F(S3Opening, AWrongSecretIsDenied) {
  ASSERT_EQ(::setenv("AWS_SECRET_ACCESS_KEY", "WRONG", 1), 0);
  const std::string said = complaint(fresh_options());
  ::setenv("AWS_SECRET_ACCESS_KEY", CephS3::kSecretKey, 1);
  EXPECT_NE(said.find("SignatureDoesNotMatch"), std::string::npos) << said;
}

TEST_F(S3Opening, TheFormOfETagsIsTriedOut) {
  S3Options options = fresh_options();
  options.bare_etags = false;
  EXPECT_EQ(complaint(options),
            "unsupported: this server refuses a quoted ETag in If-Match; add the option etag=bare");
  // And noticed by a store that was made with the other one.
  S3Options made = place_->options();
  const Write first = fresh(put(key("k"), Bytes("v"), absent()));
  ASSERT_TRUE(is_committed(commit(first)));
  made.bare_etags = false;
  const auto quoted = open_s3(made).value();
  const Write second = fresh(put(key("k"), Bytes("w"), unchanged(first.version)));
  EXPECT_EQ(code_of(quoted->commit({&second, 1})), ErrorCode::unsupported);
}

TEST_F(S3Opening, AServerThatIgnoresConditionsIsRefusedBeforeAnythingIsKeptThere) {
  S3Options options = fresh_options();
  options.endpoint = relay_->url();
  // The n-th PUT is answered as if there were no condition.
  for (const int ignored : {2, 4}) {
    relay_->decide([ignored, puts = 0](const RelayedRequest& request) mutable -> Fault {
      if (request.method != "PUT" || ++puts != ignored) return Pass{};
      return AnswerInstead{{.status = "200 OK", .body = "", .headers = {"ETag: \"e\""}}};
    });
    EXPECT_EQ(complaint(options), std::string("unsupported: this server ignores ") +
                                      (ignored == 2 ? "If-None-Match" : "If-Match") +
                                      " on PUT, without which nothing here would be safe");
  }
  const auto client = s3_client();
  const aws::Response listed =
      s3_request(*client, {.method = "GET",
                           .path = "/bucket",
                           .query = "list-type=2&prefix=" + options.prefix + "%2F"});
  EXPECT_NE(listed.body.find("<KeyCount>0</KeyCount>"), std::string::npos) << listed.body;
}

TEST_F(S3Opening, AStoreOfANewerVersionIsRefusedAndADamagedOneIsCorrupt) {
  const S3Options newer = fresh_options();
  put_object(path_of(newer, "%21format"), format::encode_format_number(2));
  EXPECT_EQ(complaint(newer), "unsupported: the store was written by a newer version of Once");
  const S3Options damaged = fresh_options();
  put_object(path_of(damaged, "%21format"), "junk");
  EXPECT_TRUE(complaint(damaged).starts_with("corrupt: "));
}

TEST_F(S3Opening, ABucketMayBeNamedByTheHost) {
  S3Options options = fresh_options();
  options.endpoint = shared_s3().named_url();
  options.style = S3Options::Style::host;
  expect_works(options);
  options.style = S3Options::Style::path;
  options.endpoint = shared_s3().url();
  EXPECT_TRUE(open_s3(options).value()->get(key("none")).has_value());
}

TEST_F(S3Opening, ThePrefixMayHaveAnyCharacters) {
  for (const std::string odd : {"a b", "a+b", "50%25", "\xc3\xa9\xe6\xbc\xa2", "a/b/c", "..a/b..",
                                "x&y=z?w#v;u:t@s$r,q", "'(~*)\"<>[]{}|\\^`"}) {
    S3Options options = fresh_options();
    options.prefix += "/" + odd;
    SCOPED_TRACE(options.prefix);
    expect_works(options);
  }
}

TEST_F(S3Opening, StoresUnderOnePrefixAndBelowItAreApart) {
  const S3Options above = fresh_options();
  S3Options below = above;
  below.prefix += "/below";
  expect_works(above);
  expect_works(below);
}

// Ceph verifies what we sign: names as other programs may give them to objects.
TEST_F(S3Opening, SignaturesHoldForAnyName) {
  const auto client = s3_client();
  for (const std::string name :
       {"a b", "a+b", "a%2Bb", "100%", "\xc3\xa9", "a/b//c", "../up", "a/./b", "~tilde", "*'()!",
        "q?u=1&v", "#hash", "semi;colon", "tr/"}) {
    SCOPED_TRACE(name);
    std::string path = "/bucket/odd";
    for (const char c : name) {
      path += c == '/' ? "/" : percent_encode(std::string_view(&c, 1));
    }
    const aws::Response put =
        s3_request(*client, {.method = "PUT", .path = path, .body = "of " + name});
    EXPECT_EQ(put.status, 200) << put.body;
    const aws::Response got = s3_request(*client, {.method = "GET", .path = path});
    EXPECT_EQ(got.body, "of " + name);
    const aws::Response listed = s3_request(
        *client, {.method = "GET",
                  .path = "/bucket",
                  .query = "list-type=2&max-keys=1&prefix=" + percent_encode("odd" + name)});
    EXPECT_EQ(listed.status, 200) << listed.body;
  }
}

TEST_F(S3Opening, ADamagedObjectIsCorruptAndNeverSkipped) {
  const Write write = fresh(put(key("k"), Bytes("v"), absent()));
  ASSERT_TRUE(is_committed(commit(write)));
  put_object(path_of(place_->options(), "%21i/k/%21s/7fffffffffffffff"), "junk");
  EXPECT_EQ(code_of(store_->get(key("k"))), ErrorCode::corrupt);
  EXPECT_EQ(
      code_of(store_->scan({.partition = key("k").partition, .direction = Direction::descending})),
      ErrorCode::corrupt);
  EXPECT_EQ(code_of(store_->list({})), ErrorCode::corrupt);
  EXPECT_EQ(code_of(commit(fresh(put(key("k"), Bytes("w"), absent())))), ErrorCode::corrupt);
}

}  // namespace
}  // namespace once::testing
