// `once run`, from outside.
#include "cli/cli_fixture.h"
#include "cli/period.h"
#include "wire/text.h"

namespace once::cli {
namespace {

using RunVerb = Cli;

TEST_F(RunVerb, RunsOnceAndReplaysOutputAndExitCode) {
  const Outcome first = once("run job -- sh -c 'echo out; echo err >&2'");
  EXPECT_EQ(first.exit_code, 0);
  EXPECT_EQ(first.out, "out\n");
  EXPECT_EQ(first.err, "err\n");
  const Outcome second = once("run job -- sh -c 'echo again'");
  EXPECT_EQ(second.exit_code, 0);
  EXPECT_EQ(second.out, "out\n");
  EXPECT_TRUE(holds(second.err, "'job' ran at 2")) << second.err;
  EXPECT_TRUE(holds(second.err, "replayed until 2")) << second.err;
  EXPECT_TRUE(holds(second.err, "err\n"));
}

TEST_F(RunVerb, AFailingCommandFreesTheKeyAndItsCodeIsPassedOn) {
  EXPECT_EQ(once("run job -- sh -c 'exit 7'").exit_code, 7);
  EXPECT_EQ(once("run job -- sh -c 'echo $ONCE_ATTEMPT'").out, "2\n");
}

TEST_F(RunVerb, ACommandHasNeitherTheTokenNorTheStoresAddress) {
  const Outcome ran =
      shell("export ONCE_TOKEN=s3cret; once run job -- env | grep -c '^ONCE_\\(TOKEN\\|STORE\\)'");
  EXPECT_EQ(ran.out, "0\n") << ran.err;
}

TEST_F(RunVerb, AKeptFailureIsReplayed) {
  EXPECT_EQ(once("run job --keep-failed -- sh -c 'echo no; exit 7'").exit_code, 7);
  const Outcome second = once("run job -- echo yes");
  EXPECT_EQ(second.exit_code, 7);
  EXPECT_EQ(second.out, "no\n");
}

TEST_F(RunVerb, WhileOneRunsAnotherIsBusy) {
  const Outcome both = shell(
      "once run job -- sh -c 'echo started; read line < hold' > out & "
      "mkfifo hold 2>/dev/null; until grep -q started out; do :; done; "
      "once run job -- echo second; echo $?; echo > hold; wait");
  EXPECT_EQ(both.out, "75\n") << both.err;
  EXPECT_TRUE(holds(both.err, "another holder")) << both.err;
}

TEST_F(RunVerb, SeveralOnOneDirectoryWorkSideBySide) {
  const Outcome all = shell(
      "for i in 1 2 3 4 5; do once run k$i -- echo $i & done; wait; "
      "for i in 1 2 3 4 5; do once run k$i -- echo other; done 2>/dev/null");
  EXPECT_EQ(all.exit_code, 0) << all.err;
  for (const char* line : {"1\n", "2\n", "3\n", "4\n", "5\n"}) EXPECT_TRUE(holds(all.out, line));
  EXPECT_FALSE(holds(all.out, "other"));
}

TEST_F(RunVerb, ATtlOfNothingIsALock) {
  EXPECT_EQ(once("run job --ttl 0s -- echo a").out, "a\n");
  EXPECT_EQ(once("run job --ttl 0s -- echo b").out, "b\n");
}

TEST_F(RunVerb, APeriodIsPartOfTheKey) {
  EXPECT_EQ(once("run job --per day -- sh -c 'echo $ONCE_KEY' | grep -cE '^job@[0-9-]{10}$'").out,
            "1\n");
  EXPECT_EQ(once("run job --per year -- true").exit_code, 64);
  EXPECT_EQ(
      once("run job --per month -- sh -c 'echo $ONCE_KEY' | grep -cE '^job@[0-9]{4}-[0-9]{2}$'")
          .out,
      "1\n");
}

TEST_F(RunVerb, AnOutcomeIsKeptToTheEndOfItsPeriod) {
  for (const std::string per : {"week", "month"}) {
    const Outcome key = once("run job --per " + per + " -- sh -c 'echo $ONCE_KEY'");
    const std::string record =
        once("claim show " + key.out.substr(0, key.out.size() - 1) + " --json").out;
    const auto at = [&](const std::string& name) {
      const std::size_t begin = record.find(name + "\":\"") + name.size() + 3;
      return *wire::parse_time(record.substr(begin, 24));
    };
    const std::optional<Period> period = period_of(per, at("completed_at"));
    EXPECT_GE(at("kept_until"), period->end) << record;
  }
  EXPECT_EQ(once("run other --per month --ttl 1ms -- true").exit_code, 64);
}

TEST(Periods, EndWhereTheNextBegins) {
  const Time now = *wire::parse_time("2026-11-17T21:30:00.000Z");
  EXPECT_EQ(period_of("hour", now)->end, *wire::parse_time("2026-11-17T22:00:00.000Z"));
  EXPECT_EQ(period_of("day", now)->end, *wire::parse_time("2026-11-18T00:00:00.000Z"));
  EXPECT_EQ(period_of("week", now)->end, *wire::parse_time("2026-11-23T00:00:00.000Z"));
  EXPECT_EQ(period_of("month", now)->end, *wire::parse_time("2026-12-01T00:00:00.000Z"));
  const Time december = *wire::parse_time("2026-12-31T23:00:00.000Z");
  EXPECT_EQ(period_of("month", december)->end, *wire::parse_time("2027-01-01T00:00:00.000Z"));
  for (const char* per : {"hour", "day", "week", "month"}) {
    const Period one = *period_of(per, now);
    EXPECT_EQ(period_of(per, one.end - Duration(1))->name, one.name);
    EXPECT_NE(period_of(per, one.end)->name, one.name);
  }
}

TEST_F(RunVerb, TheCommandKnowsItsKeyFenceAndAttempt) {
  const Outcome told =
      once("run job -- sh -c 'echo $ONCE_KEY $ONCE_ATTEMPT; test $ONCE_FENCE -gt 0'");
  EXPECT_EQ(told.exit_code, 0);
  EXPECT_EQ(told.out, "job 1\n");
}

TEST_F(RunVerb, H16_LongOutputIsCutAndMarkedAndTheRunDoesNotFailForIt) {
  const Outcome first = once("run job -- sh -c 'head -c 300000 /dev/zero | tr \"\\0\" x'");
  EXPECT_EQ(first.exit_code, 0);
  EXPECT_EQ(first.out.size(), 300'000U);
  const Outcome second = once("run job -- echo again");
  EXPECT_EQ(second.exit_code, 0);
  EXPECT_TRUE(second.out.starts_with(std::string(65'536, 'x')));
  EXPECT_TRUE(holds(second.out, "cut here"));
}

TEST_F(RunVerb, OutputThatIsNoTextIsReplayedToTheByte) {
  const std::string bytes = once("run job -- printf '\\377\\000\\001'").out;
  EXPECT_EQ(bytes, std::string("\xff\0\x01", 3));
  EXPECT_EQ(once("run job -- true").out, bytes);
}

TEST_F(RunVerb, ASignalIsPassedOnAndTheKeyIsFree) {
  const Outcome ended = shell(
      "mkfifo hold; once run job -- sh -c 'trap \"echo got it; exit 3\" TERM; echo up; "
      "while :; do read line < hold; done' > out & "
      "until grep -q up out; do :; done; kill -TERM $!; wait $!; echo $?; cat out");
  EXPECT_EQ(ended.out, "3\nup\ngot it\n") << ended.err;
  EXPECT_EQ(once("run job -- echo free").out, "free\n");
}

// It is in a group of its own, where nobody ends it, and has the output of the command.
TEST_F(RunVerb, WhatTheCommandLeavesRunningElsewhereIsNotWaitedFor) {
  const Outcome left = shell(
      "mkfifo up hold; "
      "timeout -s KILL 20 once run job -- "
      "sh -c 'setsid sh -c \"echo > up; read line < hold\" & read line < up; echo started'; "
      "echo $?; echo > hold; once run job -- echo again 2>/dev/null");
  EXPECT_EQ(left.out, "started\n0\nstarted\n") << left.err;
}

// The shell waits for what it runs beside itself: a signal between its fork and exec would be lost.
TEST_F(RunVerb, ASignalIsPassedOnEvenIfNobodyReadsTheOutput) {
  const Outcome ended = shell(
      "mkfifo up hold; "
      "(timeout -s KILL 20 once run job -- sh -c 'trap \"exit 3\" TERM; echo $PPID > pid; "
      "head -c 130000 /dev/zero; head -c 140000 /dev/zero & echo > up; wait'; echo $? > code; "
      "echo > hold) "
      "| (read line < hold; wc -c) & "
      "timeout 20 sh -c 'read line < up'; kill -TERM $(cat pid); wait; cat code");
  EXPECT_TRUE(ended.out.ends_with("\n3\n")) << ended.out << ended.err;
}

TEST_F(RunVerb, H29_TheCommandDiesWithItsParent) {
  const Outcome killed = shell(
      "mkfifo hold; once run job --lease 1h -- sh -c 'sh -c \"echo \\$\\$; read line < hold\"; "
      "true' > out & "
      "until grep -q . out; do :; done; kill -9 $!; wait $! 2>/dev/null; "
      "while kill -0 $(cat out) 2>/dev/null && ! grep -q 'State:.Z' /proc/$(cat out)/status; do :; "
      "done; "
      "echo gone");
  EXPECT_EQ(killed.out, "gone\n") << killed.err;
}

TEST_F(RunVerb, ACommandThatCannotBeStartedFreesTheKey) {
  const Outcome missing = once("run job -- /no/such/command");
  EXPECT_EQ(missing.exit_code, 127);
  EXPECT_TRUE(holds(missing.err, "No such file")) << missing.err;
  EXPECT_EQ(once("run job -- echo free").out, "free\n");
}

TEST_F(RunVerb, WrongUsageRunsNothing) {
  for (const char* words : {"run", "run job", "run job --", "run -- echo x", "run a b -- echo x",
                            "run job --lease soon -- echo x"}) {
    const Outcome refused = once(words);
    EXPECT_EQ(refused.exit_code, 64) << words;
    EXPECT_EQ(refused.out, "") << words;
  }
}

TEST_F(RunVerb, ALostLeaseStopsTheCommand) {
  const Outcome stopped = shell(
      "mkfifo hold; once run job --lease 300ms -- sh -c 'echo up; read line < hold' > out & "
      "until grep -q up out; do :; done; once claim forget job; once claim take job >/dev/null; "
      "wait $!; echo $?");
  EXPECT_TRUE(stopped.out.ends_with("1\n")) << stopped.out << stopped.err;
  EXPECT_TRUE(holds(stopped.err, "lease of 'job' was lost")) << stopped.err;
}

TEST_F(RunVerb, H38_ACommandEndsWithItsLeaseAlthoughOnceRunIsStopped) {
  const Outcome stopped = shell(
      "mkfifo hold; once run job --lease 1s -- sh -c 'trap \"\" TERM; echo $$; "
      "while :; do read line < hold; done' > out & "
      "until grep -q . out; do :; done; kill -STOP $!; "
      "once claim take job --wait 1m --field state; "
      "while kill -0 $(cat out) 2>/dev/null && ! grep -q 'State:.Z' /proc/$(cat out)/status; do :; "
      "done; "
      "echo gone; kill -CONT $!; wait $!; echo $?");
  EXPECT_EQ(stopped.out, "claimed\ngone\n1\n") << stopped.err;
  EXPECT_TRUE(holds(stopped.err, "lease of 'job' was lost")) << stopped.err;
}

TEST_F(RunVerb, AWaitForAnotherEndsWithASignal) {
  const Outcome ended = shell(
      "once claim take job >/dev/null; once run job --wait 1h -- echo ran & "
      "until grep -q SigBlk:.*8004a07 /proc/$!/status; do :; done; kill -TERM $!; wait $!; echo "
      "$?");
  EXPECT_EQ(ended.out, "143\n") << ended.err;
}

}  // namespace
}  // namespace once::cli
