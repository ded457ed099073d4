// dynamodb://TABLE?region=REGION&endpoint=URL&timeout=SECONDS&connections=N
#pragma once

#include "once/dynamodb_store.h"
#include "open/address.h"

namespace once {

Result<DynamoDbOptions> dynamodb_options(const Address& address);

}  // namespace once
