#include "queues/sqs/acks.h"

#include <utility>

namespace once::sqs {

Result<void> Acks::ack(const std::string& handle) {
  Waiting own{handle, std::nullopt};
  {
    const Lock lock(mutex_);
    waiting_.push_back(&own);
  }
  for (;;) {
    {
      Lock lock(mutex_);
      while (!own.answer && sending_) answered_.wait(lock.native());
      if (own.answer) return std::move(*own.answer);
      sending_ = true;
    }
    send_next();
  }
}

void Acks::send_next() {
  std::vector<Waiting*> batch;
  {
    const Lock lock(mutex_);
    while (!waiting_.empty() && batch.size() < kMost) {
      batch.push_back(waiting_.front());
      waiting_.pop_front();
    }
  }
  std::vector<std::string> handles;
  for (const Waiting* one : batch) handles.push_back(one->handle);
  std::vector<Result<void>> answers = send_(handles);
  {
    const Lock lock(mutex_);
    for (std::size_t i = 0; i < batch.size(); ++i) batch[i]->answer = std::move(answers[i]);
    sending_ = false;
  }
  answered_.notify_all();
}

}  // namespace once::sqs
