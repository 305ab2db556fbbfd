#include "apps/fleet/options.hpp"
#include "apps/fleet/run.hpp"

#include <cstdio>
#include <exception>
#include <variant>

int main(int argc, char** argv) {
  try {
    auto read = coordinator::fleet::read_options(argc, argv);
    if (auto* ending = std::get_if<coordinator::fleet::early_exit>(&read)) {
      std::fputs(ending->text.c_str(), ending->status == 0 ? stdout : stderr);
      return ending->status;
    }
    return coordinator::fleet::run(std::get<coordinator::fleet::options>(read));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mp-fleet: %s\n", error.what());
    return 3;
  }
}
