#include "src/commands/command.h"

int main(int argc, char** argv) { return gradsync::run_command_line(argc, argv); }
