// explain: what this engine does with a layout, and why.  tools/mad explain builds and runs it.
#include <exception>
#include <iostream>

#include "perf/explain/command.h"

int main(int argc, char** argv) {
  try {
    return explain::command(argc, argv, std::cout, std::cerr);
  } catch (const std::exception& error) {
    std::cerr << "explain: " << error.what() << "\n";
    return 1;
  }
}
