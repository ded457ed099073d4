#include "aws/credentials.h"

#include <utility>

namespace once::aws {
namespace {

class FixedCredentials final : public Credentials {
 public:
  explicit FixedCredentials(Keys keys) : keys_(std::move(keys)) {}

  Result<Keys> keys(Deadline /*deadline*/) override { return keys_; }

 private:
  const Keys keys_;
};

}  // namespace

std::shared_ptr<Credentials> fixed_credentials(Keys keys) {
  return std::make_shared<FixedCredentials>(std::move(keys));
}

}  // namespace once::aws
