// What is a CloudEvent, and what is not.
#include "events/cloud_event.h"

#include <gtest/gtest.h>

#include "base/uri.h"
#include "events/routes.h"

namespace once::events {
namespace {

const std::string kId = R"("id":"1",)";
const std::string kSource = R"("source":"/s",)";
const std::string kVersion = R"("specversion":"1.0",)";
const std::string kType = R"("type":"t")";

Request structured(std::string body) {
  Request request{"POST", "/v1/events", {}, std::move(body)};
  request.headers.add("Content-Type", "application/cloudevents+json; charset=UTF-8");
  return request;
}

ParsedEvent only_event(const Request& request) {
  auto found = events_in(request);
  if (!found || found->batch || found->events.size() != 1) {
    return std::unexpected(BadEvent{{ErrorCode::unsupported, "no single event"}, "", ""});
  }
  return std::move(found->events[0]);
}

// What is wrong with an event that has these members besides the required ones; "" if nothing is.
std::string complaint(const std::string& members) {
  const std::string more = members.empty() ? "" : "," + members;
  const ParsedEvent event =
      only_event(structured("{" + kId + kSource + kVersion + kType + more + "}"));
  return event ? "" : event.error().error.message;
}

std::string complaint_of(const std::string& body) {
  const ParsedEvent event = only_event(structured(body));
  return event ? "" : event.error().error.message;
}

TEST(CloudEvent, NeedsItsFourAttributes) {
  EXPECT_EQ(complaint(""), "");
  EXPECT_EQ(complaint_of("{" + kSource + kVersion + kType + "}"), "id is missing");
  EXPECT_EQ(complaint_of("{" + kId + kVersion + kType + "}"), "source is missing");
  EXPECT_EQ(complaint_of("{" + kId + kSource + kType + "}"), "specversion is missing");
  EXPECT_EQ(complaint_of("{" + kId + kSource + kVersion + R"("x":"y"})"), "type is missing");
  EXPECT_EQ(complaint_of("{" + kId + kSource + kVersion + R"("type":null})"), "type is missing");
  EXPECT_EQ(complaint_of("{" + kId + kSource + R"("specversion":"0.3",)" + kType + "}"),
            "specversion is not 1.0");
  EXPECT_EQ(complaint_of("{" + kId + kSource + R"("specversion":1.0,)" + kType + "}"),
            "specversion is not a string");
  EXPECT_EQ(complaint_of(R"({"id":"",)" + kSource + kVersion + kType + "}"), "id is empty");
  EXPECT_EQ(complaint_of(R"({"id":7,)" + kSource + kVersion + kType + "}"), "id is not a string");
  EXPECT_EQ(complaint_of("[]"), "an event is a JSON object");
  EXPECT_EQ(complaint_of("{"), "the JSON is not JSON");
}

TEST(CloudEvent, ItsOtherAttributesAreWhatTheSpecificationSays) {
  for (const std::string_view good :
       {R"("time":"2026-11-16T07:30:00Z")", R"("time":"1937-01-01T12:00:27.87+00:20")",
        R"("time":"1990-12-31T23:59:60Z")", R"("subject":"a b")",
        R"("datacontenttype":"application/json; charset=\"utf-8\"")",
        R"("dataschema":"https://example.com/s#f")", R"("ext1":"","ext2":true,"ext3":-5)",
        R"("subject":null,"ext":null)", R"("data":null)", R"("data":{"a":[1]})",
        R"("data_base64":"AAE=")", R"("data":null,"data_base64":"AAE=")"}) {
    EXPECT_EQ(complaint(std::string(good)), "") << good;
  }
  for (const std::string_view bad : {R"("time":"2026-11-16")",
                                     R"("time":"2026-02-30T00:00:00Z")",
                                     R"("time":"2026-11-16T24:00:00Z")",
                                     R"("time":"2026-11-16T07:30:00")",
                                     R"("time":"")",
                                     R"("subject":"")",
                                     R"("subject":7)",
                                     R"("datacontenttype":"json")",
                                     R"("datacontenttype":"a/b; c")",
                                     R"("dataschema":"relative")",
                                     R"("dataschema":"")",
                                     R"("Ext":"x")",
                                     R"("an_ext":"x")",
                                     R"("a-b":"x")",
                                     R"("":"x")",
                                     R"("ext":1.5)",
                                     R"("ext":2147483648)",
                                     R"("ext":{})",
                                     R"("ext":[])",
                                     R"("ext":"a\u0001b")",
                                     R"("ext":"\u007f")",
                                     R"("ext":"\uffff")",
                                     R"("ext":"\ufdd0")",
                                     R"("id":"2")",
                                     R"("data":1,"data_base64":"AAE=")",
                                     R"("data_base64":"AAE")",
                                     R"("data_base64":"A*E=")",
                                     R"("data_base64":{})"}) {
    EXPECT_NE(complaint(std::string(bad)), "") << bad;
  }
}

TEST(CloudEvent, ASourceIsAUriReference) {
  for (const std::string_view good :
       {"/", "a", "/a/b?c=d#e", "https://example.com:8080/a%20b", "urn:uuid:6e8bc430", "mailto:a@b",
        "//host/path", "http://[::1]:80/", "1-555-123", "../x", "?q", "#f", "http://u:p@h/"}) {
    EXPECT_TRUE(is_uri_reference(good)) << good;
  }
  for (const std::string_view bad :
       {"a b", "%", "%2", "%zz", "<a>", "a\\b", "1:2", ":a", "http://h:x/", "http://[::1", "a#b#c",
        "\xc3\xa9", "{a}", "a[0]"}) {
    EXPECT_FALSE(is_uri_reference(bad)) << bad;
  }
  EXPECT_FALSE(is_absolute_uri("a:"));
  EXPECT_TRUE(is_absolute_uri("a:b"));
}

TEST(CloudEvent, HasABoundedNumberOfAttributes) {
  std::string many;
  for (int i = 0; i < 128; ++i) {
    many.append(i == 0 ? "" : ",").append("\"a").append(std::to_string(i)).append("\":1");
  }
  EXPECT_EQ(complaint(many), "more than 128 attributes");
}

TEST(CloudEvent, ThatIsBadTellsWhatIsKnownOfIt) {
  const ParsedEvent event = only_event(structured(R"({"id":"1","type":"t"})"));
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().id, "1");
  EXPECT_EQ(event.error().type, "t");
}

Request binary(std::vector<Headers::Field> more) {
  Request request{"POST", "/v1/events", {}, "data"};
  for (const auto& [name, value] : std::vector<Headers::Field>{
           {"ce-specversion", "1.0"}, {"ce-source", "/s"}, {"ce-type", "t"}}) {
    request.headers.add(name, value);
  }
  for (auto& [name, value] : more) request.headers.add(name, value);
  return request;
}

TEST(CloudEvent, InBinaryModeHasItsAttributesInHeaders) {
  const ParsedEvent event = only_event(binary(
      {{"CE-Id", "%E2%82%AC%25"}, {"ce-myext", R"("a \"b\"")"}, {"Content-Type", "text/plain"}}));
  ASSERT_TRUE(event) << event.error().error.message;
  EXPECT_EQ(event->id, "€%");
  EXPECT_EQ(*find_attribute(event->attributes, "myext"), R"(a "b")");
  EXPECT_EQ(*find_attribute(event->attributes, "datacontenttype"), "text/plain");
  EXPECT_EQ(event->headers.find("ce-id"), "%E2%82%AC%25") << "passed on as it came";
  EXPECT_EQ(structured_line(*event),
            R"({"specversion":"1.0","source":"/s","type":"t","id":"€%","myext":"a \"b\"",)"
            R"("datacontenttype":"text/plain","data":"data"})");
}

TEST(CloudEvent, InBinaryModeIsCheckedAsWell) {
  EXPECT_FALSE(only_event(binary({})));
  EXPECT_FALSE(only_event(binary({{"ce-id", "%"}})));
  EXPECT_FALSE(only_event(binary({{"ce-id", "%ff"}})));
  EXPECT_FALSE(only_event(binary({{"ce-id", "%00"}})));
  EXPECT_FALSE(only_event(binary({{"ce-id", "1"}, {"ce-id", "2"}})));
  EXPECT_FALSE(only_event(binary({{"ce-id", "1"}, {"ce-a_b", "2"}})));
  EXPECT_FALSE(only_event(binary({{"ce-id", "1"}, {"ce-data", "2"}})));
  EXPECT_FALSE(only_event(binary({{"ce-id", "1"}, {"ce-datacontenttype", "a/b"}})));
  EXPECT_FALSE(only_event(binary({{"ce-id", "1"}, {"Content-Type", "none"}})));
  EXPECT_TRUE(only_event(binary({{"ce-id", "1"}})));
}

TEST(CloudEvent, InBinaryModeIsLoggedWithItsDataWhateverThatIs) {
  const auto line = [](const std::string& type, std::string body) {
    Request request = binary({{"ce-id", "1"}});
    if (!type.empty()) request.headers.add("Content-Type", type);
    request.body = std::move(body);
    const std::string all = structured_line(*only_event(request));
    const std::size_t at = all.find("\"data");
    const std::size_t data =
        all.find("\"data", all.find("\"datacontenttype\"", at) == at ? at + 1 : at);
    return data == std::string::npos ? "" : all.substr(data);
  };
  EXPECT_EQ(line("application/vnd.x+json; v=1", R"({ "a": 1 })"), R"("data":{"a":1}})");
  EXPECT_EQ(line("", "[1]"), R"("data":[1]})");
  EXPECT_EQ(line("text/plain", "[1]"), R"("data":"[1]"})");
  EXPECT_EQ(line("image/png", "\xff\x01"), R"("data_base64":"/wE="})");
  EXPECT_EQ(line("application/json", "{"), R"("data_base64":"ew=="})");
  EXPECT_EQ(line("text/plain", ""), "");
  EXPECT_TRUE(line("", std::string(98, '[') + std::string(98, ']')).starts_with("\"data\":[["));
  const std::string deep = line("", std::string(99, '[') + std::string(99, ']'));
  EXPECT_TRUE(deep.starts_with("\"data\"") || deep.starts_with("\"data_base64\"")) << deep;
}

// docs/hazards.md#h32: the length in front keeps "a" + "bc" from being "ab" + "c".
TEST(EventClaim, NoTwoIdentitiesShareOne) {
  EXPECT_EQ(event_claim("/s", "1"), "event/2:/s1");
  EXPECT_NE(event_claim("a", "bc"), event_claim("ab", "c"));
  EXPECT_NE(event_claim("1", ":1x"), event_claim("11", ":x"));
  const std::string longest(1'000, 'x');
  EXPECT_LE(event_claim(longest, longest).size(), 512U);
  EXPECT_NE(event_claim(longest, "a"), event_claim(longest, "b"));
  EXPECT_NE(event_claim(longest, "xa"), event_claim(longest + "x", "a"));
  EXPECT_TRUE(event_claim(longest, "a").starts_with("event/#"));
}

TEST(EventRoute, TheFirstWhosePatternMatchesIsTaken) {
  const EventRoutes routes = {{.type = "a.b"}, {.type = "a.*", .log = "l"}, {.type = "*"}};
  EXPECT_EQ(route_for(routes, "a.b"), &routes[0]);
  EXPECT_EQ(route_for(routes, "a.b.c"), &routes[1]);
  EXPECT_EQ(route_for(routes, "b"), &routes[2]);
  EXPECT_EQ(route_for({{.type = "a"}}, "b"), nullptr);
}

TEST(EventRoute, AStarStandsForAnyText) {
  EXPECT_TRUE(matches_pattern("a.*", "a."));
  EXPECT_TRUE(matches_pattern("*.b.*", "a.b.c.b.d"));
  EXPECT_TRUE(matches_pattern("a*b*c", "a-bb-b-c"));
  EXPECT_TRUE(matches_pattern("**", ""));
  EXPECT_FALSE(matches_pattern("a.*", "a"));
  EXPECT_FALSE(matches_pattern("a*b", "a-b-"));
  EXPECT_FALSE(matches_pattern("", "a"));
  const std::string slow(500, 'a');
  EXPECT_FALSE(matches_pattern("*a*a*a*a*a*a*a*a*a*b", slow));
}

TEST(EventRoute, ThatCannotBeIsRefusedByItsField) {
  const auto wrong = [](const EventRoute& route) {
    const Result<void> ok = check_route(route);
    return ok ? "" : ok.error().message.substr(0, ok.error().message.find(' '));
  };
  EXPECT_EQ(wrong({.type = "a", .forward = "http://h:80/p?q", .log = "l", .tally = "t"}), "");
  EXPECT_EQ(wrong({}), "type");
  EXPECT_EQ(wrong({.type = "a\n"}), "type");
  for (const std::string_view url : {"ftp://h/", "https://", "h:80", "http://", "http://u@h/",
                                     "http://h/#f", "http://h:x/", "http://h/a b", "ftp://h/"}) {
    EXPECT_EQ(wrong({.type = "a", .forward = std::string(url)}), "forward") << url;
  }
  EXPECT_EQ(wrong({.type = "a", .log = "a\n"}), "log:");
  EXPECT_EQ(wrong({.type = "a", .tally = std::string(513, 'x')}), "tally:");
  EXPECT_EQ(wrong({.type = "a", .ttl = Duration(0)}), "ttl");
  EXPECT_EQ(wrong({.type = "a", .timeout = std::chrono::hours(2)}), "timeout");
  EXPECT_EQ(wrong({.type = "a", .lease = Duration(10)}), "lease");
}

}  // namespace
}  // namespace once::events
