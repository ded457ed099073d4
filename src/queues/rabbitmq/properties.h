// The properties of a message as AMQP has them, types included.
#pragma once

#include <amqp.h>

#include <deque>
#include <string>
#include <vector>

#include "once/queue.h"

namespace once::rabbitmq {

// As they go over the wire: Message::original.
std::string encoded(const amqp_basic_properties_t& properties);

// What is sent with a message: what it came with, or its id, content type and attributes if it did
// not come from a broker. The message must outlive it.
class Properties {
 public:
  explicit Properties(const Message& message);
  ~Properties() { empty_amqp_pool(&pool_); }
  Properties(const Properties&) = delete;
  Properties& operator=(const Properties&) = delete;

  // Changes what would do something when it is sent again: a time to live that would remove it, a
  // sender that the broker compares with us, further receivers, the broker's own counts. What is
  // not the broker's own goes on as a header that begins with "Once-".
  void make_inert();

  // In place of the header of that name, if it has one.
  void set_header(const std::string& name, std::string value);
  void remove_header(std::string_view name);

  // Whether they fit into one frame, as they must.
  bool fit() const;

  const amqp_basic_properties_t& get() const { return properties_; }

 private:
  void set_from_text(const Message& message);
  void renew_headers();

  amqp_pool_t pool_{};
  amqp_basic_properties_t properties_{};
  std::vector<amqp_table_entry_t> headers_;
  std::deque<std::string> texts_;  // Of names and values that were set.
};

}  // namespace once::rabbitmq
