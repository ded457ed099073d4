#include "queues/sqs/form.h"

#include <gtest/gtest.h>

namespace once::sqs {
namespace {

constexpr const char* kReceived = R"(<ReceiveMessageResponse><ReceiveMessageResult><Message>
  <MessageId>m1</MessageId><ReceiptHandle>h1</ReceiptHandle><Body>a &lt;b&gt; &amp;#38; </Body>
  <Attribute><Name>ApproximateReceiveCount</Name><Value>3</Value></Attribute>
  <Attribute><Name>MessageGroupId</Name><Value>g</Value></Attribute>
  <Attribute><Name>SentTimestamp</Name><Value>1700000000123</Value></Attribute>
  <MessageAttribute><Name>order</Name><Value><DataType>String</DataType>
    <StringValue>42</StringValue></Value></MessageAttribute>
  <MessageAttribute><Name>Content-Type</Name><Value><StringValue>text/plain</StringValue></Value>
  </MessageAttribute></Message></ReceiveMessageResult></ReceiveMessageResponse>)";

TEST(SqsForm, IsEncodedAsAForm) {
  Form form("SendMessage");
  form.add("MessageBody", "a&b=c d\xc3\xa9").add("DelaySeconds", 5);
  EXPECT_EQ(form.request("/q").body,
            "Action=SendMessage&Version=2012-11-05&MessageBody=a%26b%3Dc%20d%C3%A9&DelaySeconds=5");
}

TEST(SqsForm, AMessageIsReadWithItsAttributes) {
  const std::vector<Message> messages = messages_in(kReceived).value();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].id, "m1");
  EXPECT_EQ(messages[0].handle, "h1");
  EXPECT_EQ(messages[0].body, "a <b> &#38; ");
  EXPECT_EQ(messages[0].deliveries, 3);
  EXPECT_EQ(messages[0].group, "g");
  EXPECT_EQ(messages[0].sent, Time(Duration(1'700'000'000'123)));
  EXPECT_EQ(messages[0].attributes.at("order"), "42");
  EXPECT_EQ(messages[0].content_type, "text/plain");
}

TEST(SqsForm, ABodyOfSpacesStaysOne) {
  const auto messages = messages_in(
      "<ReceiveMessageResponse><ReceiveMessageResult><Message><Body>  </Body></Message>"
      "</ReceiveMessageResult></ReceiveMessageResponse>");
  EXPECT_EQ(messages.value()[0].body, "  ");
}

TEST(SqsForm, WhatIsNoAnswerIsUnknown) {
  for (const char* text : {"", "<html></html>", "{}", "<ReceiveMessageResponse>",
                           "<ReceiveMessageResponse></ReceiveMessageResponse>"}) {
    EXPECT_EQ(messages_in(text).error().code, ErrorCode::unknown) << text;
  }
  EXPECT_FALSE(path_in("<AResponse><AResult><QueueUrl>x</QueueUrl></AResult></AResponse>"));
}

TEST(SqsForm, AReasonIsCutBetweenCharactersAndHasNoneThatXmlHasNot) {
  EXPECT_EQ(sendable("a\x01"
                     "b\n",
                     100),
            "a b\n");
  EXPECT_EQ(sendable("ab\xc3\xa9", 3), "ab");
  EXPECT_EQ(sendable("ab\xc3\xa9", 4), "ab\xc3\xa9");
}

}  // namespace
}  // namespace once::sqs
