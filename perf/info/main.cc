// info: the fabrics of this machine.  tools/mad info builds and runs it.
#include <exception>
#include <iostream>

#include "perf/info/command.h"

int main(int argc, char** argv) {
  try {
    return info::command(argc, argv, std::cout, std::cerr);
  } catch (const std::exception& error) {
    std::cerr << "info: " << error.what() << "\n";
    return 1;
  }
}
