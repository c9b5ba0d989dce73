#include "src/commands/launch.h"

#include <doctest/doctest.h>

#include <csignal>

using namespace gradsync;

namespace {

LaunchOptions options(std::vector<std::string> command) {
  LaunchOptions launch;
  launch.command_line = std::move(command);
  launch.environment = {{"PATH", "/usr/bin:/bin"}};
  return launch;
}

}  // namespace

TEST_CASE("the command's own status comes back") {
  CHECK(launch(options({"/bin/true"}))->exit_status == 0);
  CHECK(launch(options({"sh", "-c", "exit 7"}))->exit_status == 7);
  const auto killed = launch(options({"sh", "-c", "kill -KILL $$"}));
  CHECK(killed->exit_status == 128 + SIGKILL);
  CHECK(killed->signal == SIGKILL);
}

TEST_CASE("what cannot be started is told apart") {
  CHECK(launch(options({"no-such-program-at-all"})).error().exit_status == 127);
  CHECK(launch(options({"/etc/passwd"})).error().exit_status == 126);
  CHECK(launch(options({"/nonexistent/program"})).error().message() ==
        "cannot run /nonexistent/program: No such file or directory");
}

TEST_CASE("the job gets exactly the environment it was given") {
  LaunchOptions given = options({"sh", "-c", "test \"$ONLY\" = this && test -z \"$HOME\""});
  given.environment["ONLY"] = "this";
  CHECK(launch(given)->exit_status == 0);
}

TEST_CASE("processes that the job leaves behind are waited for, and counted when they stay") {
  LaunchOptions patient = options({"sh", "-c", "(sleep 0.3) & exit 0"});
  patient.linger_seconds = 20;
  CHECK(launch(patient)->left_behind == 0);
  const auto impatient = launch(options({"sh", "-c", "(sleep 1) & exit 0"}));
  CHECK(impatient->left_behind > 0);
}
