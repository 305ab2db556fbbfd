#include "apps/mp_server/server.hpp"
#include "apps/mp_server/settings.hpp"

#include <cstdio>
#include <exception>
#include <variant>

int main(int argc, char** argv) {
  try {
    auto read = mp_server::read_settings(argc, argv);
    if (auto* ending = std::get_if<mp_server::early_exit>(&read)) {
      std::fputs(ending->text.c_str(), ending->status == 0 ? stdout : stderr);
      return ending->status;
    }
    return mp_server::run_server(std::get<mp_server::settings>(read));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mp-server: %s\n", error.what());
    return 1;
  }
}
