// One HTTP request and its answer on a handle of libcurl, sent at most once.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>

#include "aws/message.h"
#include "once/error.h"
#include "once/time.h"

using CURL = void;
struct curl_slist;

namespace once::aws {

struct Transfer;
struct TransferOptions;

// Used by one thread. Must not move while under way: libcurl has its address.
class Exchange {
 public:
  Exchange();
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Prepares the handle for `transfer`, whose body must stay alive until end().
  void begin(const Transfer& transfer, const TransferOptions& options, Clock& clock,
             long timeout_ms);

  // The answer, given libcurl's result of the transfer.
  Result<Response> end(int result);

  CURL* handle() const { return handle_; }

  // When sending began, on a connection that was open.
  Time sent() const { return sent_; }

 private:
  void set_method(const Transfer& transfer);
  void set_headers(const std::vector<Header>& headers);
  Error error_of(int result) const;

  static std::size_t read_body(char* into, std::size_t size, std::size_t count, void* self);
  static std::size_t take_header(char* line, std::size_t size, std::size_t count, void* self);
  static std::size_t take_body(char* bytes, std::size_t size, std::size_t count, void* self);
  static int before_sending(void* self, char*, char*, int, int);

  CURL* const handle_;
  Clock* clock_ = nullptr;
  Time sent_;
  curl_slist* lines_ = nullptr;
  std::string_view left_;  // The rest of the body.
  Response response_;
  std::size_t response_limit_ = 0;
  int sendings_ = 0;
  bool head_ended_ = false;
  bool too_large_ = false;
  std::array<char, 256> reason_{};  // CURL_ERROR_SIZE
};

}  // namespace once::aws
