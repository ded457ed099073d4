// Opening a store by its address.
//
//   memory:          in this process, forgotten with it
//   rocksdb:/dir     a directory on this machine, owned by one process at a time
//   /dir, ./dir      the same
//   dynamodb://table?region=eu-west-1
//                    a table of Amazon DynamoDB, shared by any number of processes; the options are
//                    region, endpoint (of something else that speaks like it), timeout (in seconds,
//                    10) and connections (64)
//   redis://user:password@host:port/database
//                    a Redis server or cluster, shared by any number of processes; user, password,
//                    port and database may be left out; the options are timeout (in seconds, 10)
//                    and connections (64). rediss:// is the same over TLS, with ca (a file of
//                    certificates to trust)
//   postgres://user@host:5432/database?schema=once
//                    a schema of a PostgreSQL database, shared by any number of processes; made by
//                    create_table(). The options are schema (once), timeout (in seconds, 10),
//                    connections (16) and all of libpq's, such as sslmode. A password comes from
//                    PGPASSWORD, libpq's password file, or user:password@
//   s3://bucket/prefix?region=eu-west-1
//                    a prefix of a bucket of Amazon S3, shared by any number of processes, one
//                    write a commit; the options are region, endpoint (of something else that
//                    speaks like it), style (path or host: where requests name the bucket), etag
//                    (bare for servers that want one without quotation marks), timeout (in seconds,
//                    10) and connections (64)
//   http://host:7600 no store, but a running server that has one: open() only. https:// is the same
//                    through TLS; OpenOptions has the certificates
//
// `rocksdb:/dir?durability=relaxed` syncs once a second instead of before every answer.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "once/once.h"
#include "once/open_options.h"

namespace once {

// `invalid`: not an address, or an option that does not exist. `unsupported`: a store that this
// build has not. Otherwise as the store's own opening. A store that is a server refuses to write
// once it was emptied or replaced: it is a MarkedStore (once/marked_store.h).
Result<std::unique_ptr<Store>> open_store(std::string_view address,
                                          const OpenOptions& options = {});

// Makes the table of a dynamodb:// address, or the schema of a postgres:// one, and returns when it
// can be used; items that are there are left as they are. On PostgreSQL `role`, unless empty, may
// use it then. `unsupported` for a store that needs none.
Result<void> create_table(std::string_view address, const std::string& role = {});

// The SQL that create_table() runs. `unsupported` where it runs none.
Result<std::string> table_sql(std::string_view address, const std::string& role = {});

// Lines for people about that table; an error for the first thing that is not as it should be.
Result<std::string> check_table(std::string_view address);

// Where an embedded store keeps its data; nothing for an address of any other kind.
std::optional<std::filesystem::path> directory_of(std::string_view address);

// Makes the new directory `to` a copy of an embedded store as it stands at one moment, while others
// read and write. `unsupported`: the store is of another kind.
Result<void> checkpoint(Store& store, const std::filesystem::path& to);

// The error that a small commit would get now, as far as the store knows without making one. None
// for stores that cannot tell.
Result<void> check_writable(Store& store);

// A store in this process, or a server. A server is first asked by the first call, which may be
// `unavailable`; each call is one request and is over within a minute and a few seconds, or as long
// as it is told to wait. An answer that is lost is asked for again, under an id, wherever that can
// be done; `unknown` is what is left.
//
// What a server does is what a store in this process would do, byte for byte, except:
//   - log().heal(), a tally of a program's own kind, ids of documents and tallies that are to be
//     known for other than 24 hours, and an id for an update by a function are `unsupported`, and
//     store() is null;
//   - Busy does not tell since when, and the merge of a bloom filter not its state;
//   - requests have the server's limit of size: `too_large`.
Result<Once> open(std::string_view address, std::string name_space = "default",
                  const OpenOptions& options = {});

}  // namespace once
