#include "actors/capability.hpp"
#include "apps/coordinator/service.hpp"
#include "apps/coordinator/settings.hpp"

#include <cstdio>
#include <exception>
#include <variant>

int main(int argc, char** argv) {
  try {
    const auto capabilities = coordinator::all_capabilities();
    auto read = coordinator::read_settings(argc, argv, capabilities);
    if (auto* ending = std::get_if<coordinator::early_exit>(&read)) {
      std::fputs(ending->text.c_str(), ending->status == 0 ? stdout : stderr);
      return ending->status;
    }
    return coordinator::run_service(std::get<coordinator::settings>(read), capabilities);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mp-coordinator: %s\n", error.what());
    return 1;
  }
}
