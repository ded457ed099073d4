#include "stores/redis/startup.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "stores/redis/stored_form.h"

namespace once::redis {
namespace {

constexpr int kLeastMajor = 7;
constexpr std::string_view kFormatName = "once:format";
constexpr std::string_view kFormat = "1";

// What scripts and calls need. A script that may not use one of them would stop in its middle.
constexpr std::string_view kProbe = R"lua(
local key = ARGV[1]
local commands = {{'GET', key}, {'SET', key, ''}, {'DEL', key},
    {'ZADD', key, '0', 'm'}, {'ZREM', key, 'm'}, {'ZRANGE', key, '0', '1'},
    {'ZRANGEBYLEX', key, '-', '+'}, {'ZREVRANGEBYLEX', key, '+', '-'},
    {'PEXPIRETIME', key}, {'PEXPIREAT', key, '1'}, {'PERSIST', key}, {'TIME'},
    {'SCAN', '0'}}
if ARGV[2] == 'cluster' then
  commands[#commands + 1] = {'ASKING'}
  commands[#commands + 1] = {'CLUSTER', 'NODES', name = 'CLUSTER NODES'}
end
for _, command in ipairs(commands) do
  if not redis.acl_check_cmd(unpack(command)) then return command.name or command[1] end
end
return ''
)lua";

std::string_view field_in(std::string_view info, std::string_view name) {
  std::string wanted = "\n";
  wanted.append(name).append(":");
  const std::size_t at = info.find(wanted);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = info.substr(at + wanted.size());
  return rest.substr(0, rest.find_first_of("\r\n"));
}

std::int64_t count_in(std::string_view text) {
  std::int64_t count = 0;
  std::from_chars(std::to_address(text.begin()), std::to_address(text.end()), count);
  return count;
}

// CONFIG GET answers names and values in turn.
std::string_view setting_in(ReplyView config, std::string_view name) {
  for (std::size_t i = 0; i + 1 < config.size(); i += 2) {
    if (config[i].text() == name) return config[i + 1].text();
  }
  return {};
}

Result<Keeping> ask(Router& router, const Endpoint& server, Deadline deadline) {
  const Result<Reply> info = router.run_at(server, text_of({"INFO"}), deadline);
  if (!info) return failure(ErrorCode::unavailable, info.error().message);
  if ((**info).text().empty() || (**info).is_error()) {
    return std::unexpected(reading_error_of(**info));
  }
  // Many a hosted Redis refuses this one; then less can be said.
  const Result<Reply> config =
      router.run_at(server, text_of({"CONFIG", "GET", "appendfsync", "save"}), deadline);
  if (!config) return failure(ErrorCode::unavailable, config.error().message);
  return keeping_in((**info).text(), **config);
}

Result<void> check_rights(Router& router, const Endpoint& server, Deadline deadline) {
  // The name is no key of the script's: it is not used, and may be at home with another server.
  const std::string_view kind = router.is_cluster() ? "cluster" : "alone";
  const Result<Reply> probe =
      router.run_at(server, text_of({"EVAL", kProbe, "0", kFormatName, kind}), deadline);
  if (!probe) return failure(ErrorCode::unavailable, probe.error().message);
  const ReplyView view = **probe;
  if (view.is_error()) return std::unexpected(reading_error_of(view));
  if (view.text().empty()) return {};
  std::string message = "redis: this user may not use ";
  return failure(ErrorCode::denied, message.append(view.text()));
}

Result<void> check_server(const Keeping& keeping) {
  if (count_in(keeping.version) < kLeastMajor) {
    std::string message = "redis: this is version ";
    message.append(keeping.version).append("; Once needs 7.0 or later");
    return failure(ErrorCode::unsupported, std::move(message));
  }
  if (keeping.is_replica) {
    return failure(ErrorCode::unsupported, "redis: this is a replica; Once needs its master");
  }
  return {};
}

Result<void> check_format(Router& router, Deadline deadline) {
  const Command command{.bytes = text_of({"SET", kFormatName, kFormat, "NX", "GET"}),
                        .slot = slot_of(kFormatName)};
  const Result<Reply> reply = router.run(command, deadline);
  if (!reply) return failure(ErrorCode::unavailable, reply.error().message);
  const ReplyView view = **reply;
  if (view.is_error()) return std::unexpected(reading_error_of(view));
  if (view.is_nil() || view.text() == kFormat) return {};
  return failure(ErrorCode::unsupported,
                 "redis: what is there was written by a newer version of Once");
}

std::string name_in_line(const RedisOptions& options) {
  std::string name = options.tls ? "rediss://" : "redis://";
  name.append(to_text(Endpoint{options.host, options.port}));
  return name.append("/").append(std::to_string(options.database));
}

}  // namespace

Keeping keeping_in(std::string_view info, ReplyView config) {
  Keeping keeping{.version = std::string(field_in(info, "redis_version")),
                  .is_replica = field_in(info, "role") == "slave",
                  .append_only = field_in(info, "aof_enabled") == "1",
                  .fsync = std::string(setting_in(config, "appendfsync")),
                  .snapshots = !setting_in(config, "save").empty(),
                  .policy = std::string(field_in(info, "maxmemory_policy")),
                  .replicas = count_in(field_in(info, "connected_slaves"))};
  keeping.may_evict = count_in(field_in(info, "maxmemory")) > 0 && keeping.policy != "noeviction";
  return keeping;
}

std::vector<std::string> dangers_of(const Keeping& keeping, bool is_cluster) {
  std::vector<std::string> dangers;
  if (!keeping.append_only) {
    dangers.emplace_back(keeping.snapshots
                             ? "a crash loses what came after the last snapshot (appendonly is no)"
                             : "a restart loses everything (appendonly is no, and no snapshots)");
  } else if (keeping.fsync == "everysec") {
    dangers.emplace_back("a crash of the machine loses up to two seconds (appendfsync everysec)");
  } else if (keeping.fsync == "no") {
    dangers.emplace_back("a crash of the machine loses what was not yet written (appendfsync no)");
  } else if (keeping.fsync != "always") {
    dangers.emplace_back("it does not say how it syncs its file, so a crash may lose the newest");
  }
  if (keeping.may_evict) {
    std::string danger = "when its memory is full it throws out live claims (maxmemory-policy ";
    dangers.push_back(danger.append(keeping.policy).append("; noeviction keeps them)"));
  }
  if (keeping.replicas > 0) {
    dangers.emplace_back("a failover to a replica loses what had not reached it");
  } else if (is_cluster) {
    dangers.emplace_back("a failover, once there are replicas, loses what had not reached them");
  }
  return dangers;
}

Result<std::string> check_servers(Router& router, const RedisOptions& options, Deadline deadline) {
  std::vector<std::string> dangers;
  const std::vector<Endpoint> servers = router.map().servers;
  for (const Endpoint& server : servers) {
    const Result<Keeping> keeping = ask(router, server, deadline);
    if (!keeping) return std::unexpected(keeping.error());
    if (Result<void> sound = check_server(*keeping); !sound) {
      return std::unexpected(std::move(sound.error()));
    }
    if (Result<void> allowed = check_rights(router, server, deadline); !allowed) {
      return std::unexpected(std::move(allowed.error()));
    }
    for (std::string& danger : dangers_of(*keeping, router.is_cluster())) {
      if (std::ranges::find(dangers, danger) == dangers.end()) dangers.push_back(std::move(danger));
    }
  }
  if (Result<void> ours = check_format(router, deadline); !ours) {
    return std::unexpected(std::move(ours.error()));
  }
  std::string description = name_in_line(options);
  if (router.is_cluster()) {
    description.append(", a cluster of ").append(std::to_string(servers.size()));
  }
  if (dangers.empty()) description += ", synced before every answer";
  for (const std::string& danger : dangers) {
    description.append("; MAY LOSE CLAIMS: ").append(danger);
  }
  return description;
}

}  // namespace once::redis
