#include <array>
#include <iostream>

#include "cli/invocation.h"

namespace once::cli {
namespace {

struct BuiltIn {
  std::string_view name;
  std::string_view what;
};

constexpr std::array kStores = {
    BuiltIn{"memory", "in this process's memory, gone when it ends"},
#ifdef ONCE_HAS_ROCKSDB
    BuiltIn{"rocksdb", "a directory on this machine, owned by one process at a time"},
#endif
#ifdef ONCE_HAS_DYNAMODB
    BuiltIn{"dynamodb", "a table of Amazon DynamoDB, shared by any number of processes"},
#endif
#ifdef ONCE_HAS_REDIS
    BuiltIn{"redis", "a Redis server or cluster, shared by any number of processes"},
#endif
#ifdef ONCE_HAS_S3
    BuiltIn{"s3", "a bucket of Amazon S3 or what speaks like it, one write a commit"},
#endif
};

// None of the texts holds a character that JSON escapes.
void print_json() {
  std::cout << R"({"version":")" ONCE_VERSION R"(","compiler":")" ONCE_COMPILER R"(","stores":[)";
  std::string_view comma;
  for (const BuiltIn& store : kStores) {
    std::cout << comma << '"' << store.name << '"';
    comma = ",";
  }
  std::cout << "]}\n";
}

void print_text() {
  std::cout << "once " ONCE_VERSION "\ncompiler " ONCE_COMPILER "\n";
  for (const BuiltIn& store : kStores) {
    std::cout << "store " << store.name << ": " << store.what << '\n';
  }
}

int run(const Invocation& invocation) {
  invocation.flag("json") ? print_json() : print_text();
  return kDone;
}

constexpr std::array kVerbs = {Verb{.run = run}};

}  // namespace

const Command kVersion = {
    .name = "version",
    .summary = "Says which version this is and which stores are built in",
    .help = R"help(Usage: once version [--json]

Says which version this is, what it was compiled with, and which stores are built in.

Example:
  once version --json
)help",
    .verbs = kVerbs,
};

}  // namespace once::cli
