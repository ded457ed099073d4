// Documents as plain objects, which other programs read and write too.
#include <set>
#include <thread>

#include "once/local.h"
#include "stores/s3/plain_object.h"
#include "stores/s3/store_fixture.h"

namespace once::testing {
namespace {

using documents::Content;
using documents::IfAbsent;
using documents::IfMatch;
using documents::PreconditionFailed;
using documents::Updated;

class S3PlainDocuments : public S3Fixture {
 protected:
  void SetUp() override {
    ONCE_NEEDS_SERVER(CephS3);
    place_.emplace();
    relay_ = std::make_unique<Relay>(shared_s3().port());
    store_ = open_plain();
    documents_ = documents_on(*store_);
    client_ = s3_client();
  }

  std::unique_ptr<S3Store> open_plain() {
    S3Options options = place_->options();
    options.plain_documents = true;
    options.endpoint = relay_->url();
    return open_s3(options, system_clock(), system_entropy()).value();
  }
  std::unique_ptr<LocalDocuments> documents_on(Store& store) {
    return std::make_unique<LocalDocuments>(store, "default", system_clock(), system_entropy());
  }

  // What another program does.
  std::string path(const std::string& name) const {
    return "/bucket/" + place_->options().prefix + "/" + name;
  }
  aws::Response object(const std::string& name) {
    return s3_request(*client_, {.method = "GET", .path = path(name)});
  }
  void put_object(const std::string& name, std::string body, std::vector<aws::Header> headers) {
    const aws::Request request{.method = "PUT",
                               .path = path(name),
                               .headers = std::move(headers),
                               .body = std::move(body)};
    ASSERT_EQ(s3_request(*client_, request).status, 200);
  }
  void remove_object(const std::string& name) {
    ASSERT_EQ(s3_request(*client_, {.method = "DELETE", .path = path(name)}).status, 204);
  }

  std::optional<documents::Document> get(const std::string& name) {
    return documents_->get(name).value();
  }
  std::string create(const std::string& name, std::string bytes,
                     documents::Identity identity = {}) {
    const auto made =
        documents_->put(name, {std::move(bytes), "text/plain"}, IfAbsent{}, identity).value();
    const auto* updated = std::get_if<Updated>(&made);
    EXPECT_NE(updated, nullptr);
    return updated != nullptr ? updated->document->etag : "";
  }
  std::set<std::string> listed(const Listing& listing = {}) {
    std::set<std::string> names;
    Listing next = listing;
    do {
      const auto page = documents_->list(next).value();
      for (const auto& document : page.documents) names.insert(document.name);
      next.cursor = page.cursor;
    } while (!next.cursor.empty());
    return names;
  }
  static documents::UpdateRequest one_more(documents::Identity identity = {}) {
    return {.modify = [](const std::optional<Content>& current) -> Result<documents::Modified> {
              const int number = std::stoi(current->bytes);
              return Content{std::to_string(number + 1), current->type};
            },
            .identity = std::move(identity),
            .body = "+1"};
  }

  std::unique_ptr<LocalDocuments> documents_;
  std::unique_ptr<aws::Client> client_;
};

TEST_F(S3PlainDocuments, ADocumentIsAnObjectOfItsBytesAndType) {
  create("reports/2026 \xc3\xa9.txt", "hello\n");
  const aws::Response seen = object("reports/2026%20%C3%A9.txt");
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(seen.body, "hello\n");
  EXPECT_EQ(aws::header_of(seen.headers, "Content-Type"), "text/plain");
  EXPECT_EQ(get("reports/2026 \xc3\xa9.txt")->content, (Content{"hello\n", "text/plain"}));
  const auto again = open_plain();
  EXPECT_EQ(documents_on(*again)->get("reports/2026 \xc3\xa9.txt").value(),
            get("reports/2026 \xc3\xa9.txt"));
}

TEST_F(S3PlainDocuments, WhatAnotherProgramWroteIsADocument) {
  put_object("theirs.json", R"({"n":1})", {{"Content-Type", "application/json"}});
  const auto found = get("theirs.json");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->content, (Content{R"({"n":1})", "application/json"}));
  EXPECT_EQ(get("theirs.json")->etag, found->etag);
  EXPECT_TRUE(std::holds_alternative<PreconditionFailed>(
      documents_->put("theirs.json", {"x"}, IfAbsent{}).value()));
  ASSERT_TRUE(std::holds_alternative<Updated>(
      documents_->put("theirs.json", {"{}", "a/b"}, IfMatch{found->etag}).value()));
  EXPECT_EQ(object("theirs.json").body, "{}");
}

TEST_F(S3PlainDocuments, ADocumentThatAnotherProgramChangedHasAnotherETag) {
  const std::string etag = create("d", "ours");
  put_object("d", "theirs", {{"Content-Type", "text/html"}});
  EXPECT_NE(get("d")->etag, etag);
  EXPECT_EQ(get("d")->content, (Content{"theirs", "text/html"}));
  EXPECT_TRUE(std::holds_alternative<PreconditionFailed>(
      documents_->put("d", {"ours again"}, IfMatch{etag}).value()));
  remove_object("d");
  EXPECT_FALSE(get("d").has_value());
  create("d", "anew");
  EXPECT_EQ(object("d").body, "anew");
}

// Tools that copy keep the metadata.
TEST_F(S3PlainDocuments, MetadataThatBelongsToOtherBytesOrToAnotherNameCountsForNothing) {
  const std::string etag = create("d", "ours");
  const std::string meta(aws::header_of(object("d").headers, "x-amz-meta-once"));
  ASSERT_FALSE(meta.empty());
  put_object("d", "edited", {{"Content-Type", "text/plain"}, {"x-amz-meta-once", meta}});
  put_object("copy", "ours", {{"Content-Type", "text/plain"}, {"x-amz-meta-once", meta}});
  EXPECT_EQ(get("d")->content.bytes, "edited");
  EXPECT_NE(get("d")->etag, etag);
  EXPECT_EQ(get("copy")->content.bytes, "ours");
  EXPECT_NE(get("copy")->etag, etag);
}

TEST_F(S3PlainDocuments, ARemovedDocumentIsGoneAndMayBeMadeAnew) {
  const std::string etag = create("d", "");
  ASSERT_TRUE(std::holds_alternative<Updated>(documents_->remove("d", etag).value()));
  EXPECT_FALSE(get("d").has_value());
  EXPECT_EQ(listed(), std::set<std::string>{});
  EXPECT_TRUE(std::holds_alternative<PreconditionFailed>(
      documents_->put("d", {"late"}, IfMatch{etag}).value()));
  create("d", "anew");
  EXPECT_EQ(object("d").body, "anew");
}

TEST_F(S3PlainDocuments, AListingHasTheDocumentsOfAllProgramsAndNothingElse) {
  std::set<std::string> all;
  for (int i = 0; i < 5; ++i) {
    create("ours/" + std::to_string(i), "x");
    put_object("theirs/" + std::to_string(i), "x", {});
    all.insert({"ours/" + std::to_string(i), "theirs/" + std::to_string(i)});
  }
  put_object("folder/", "", {});
  create("!odd//name", "x");  // No server would leave such a path as it is.
  all.insert("!odd//name");
  const Write other = fresh(once::put(key("claim/default/c"), Bytes("v"), absent()));
  ASSERT_TRUE(is_committed(commit(other)));
  EXPECT_EQ(listed(), all);
  EXPECT_EQ(listed({.limit = 2}), all);
  EXPECT_EQ(listed({.prefix = "theirs/", .limit = 2}).size(), 5U);
  EXPECT_EQ(get("!odd//name")->content.bytes, "x");
}

TEST_F(S3PlainDocuments, H7_ACreationWhoseReplyIsLostIsMadeOnce) {
  script("PUT", {DropReply{}});
  create("d", "1");
  EXPECT_EQ(get("d")->content.bytes, "1");
  script("PUT", {DropReply{}});
  const auto added = documents_->update("d", one_more({.id = "i"})).value();
  EXPECT_FALSE(std::get<Updated>(added).replayed);
  const auto again = documents_->update("d", one_more({.id = "i"})).value();
  EXPECT_TRUE(std::get<Updated>(again).replayed);
  EXPECT_EQ(object("d").body, "2");
}

TEST_F(S3PlainDocuments, ManyChangesWithIdsForgetTheOldestId) {
  create("d", "0");
  for (int i = 0; i < 20; ++i) {
    const documents::Identity identity{.id = "change-" + std::to_string(i) + std::string(40, 'x')};
    ASSERT_TRUE(documents_->update("d", one_more(identity)).has_value()) << i;
  }
  const documents::Identity last{.id = "change-19" + std::string(40, 'x')};
  EXPECT_TRUE(std::get<Updated>(documents_->update("d", one_more(last)).value()).replayed);
  EXPECT_EQ(object("d").body, "20");
}

TEST_F(S3PlainDocuments, NoUpdateOfTwoProcessesIsLost) {
  create("d", "0");
  const auto work = [this](Store& store) {
    const auto documents = documents_on(store);
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(std::holds_alternative<Updated>(documents->update("d", one_more()).value()));
    }
  };
  const auto other = open_plain();
  {
    const std::jthread second([&] { work(*other); });
    work(*store_);
  }
  EXPECT_EQ(object("d").body, "20");
}

}  // namespace
}  // namespace once::testing
