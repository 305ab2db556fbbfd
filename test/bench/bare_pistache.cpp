// The least that Pistache can do for a heartbeat: one thread answers every request with the same body and looks at
// none. What the coordinator needs beyond this is the price of everything it does.
//
//   bare_pistache PORT

#include <pistache/endpoint.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>

namespace {

class same_answer : public Pistache::Http::Handler {
public:
  HTTP_PROTOTYPE(same_answer)

  void onRequest(const Pistache::Http::Request&, Pistache::Http::ResponseWriter writer) override {
    // As long as the coordinator's for the ids of heartbeat.lua.
    writer.send(Pistache::Http::Code::Ok, R"({"instance_id":"bench-00000"})", MIME(Application, Json));
  }
};

} // namespace

int main(int argc, char** argv) {
  std::uint16_t port = 0;
  if (argc != 2 || std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), port).ec != std::errc{}) {
    std::fputs("usage: bare_pistache PORT\n", stderr);
    return 2;
  }
  try {
    Pistache::Http::Endpoint endpoint{Pistache::Address{"127.0.0.1", Pistache::Port{port}}};
    endpoint.init(Pistache::Http::Endpoint::options().threads(1).flags(Pistache::Tcp::Options::ReuseAddr));
    endpoint.setHandler(std::make_shared<same_answer>());
    endpoint.serve();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "bare_pistache: %s\n", failure.what());
    return 1;
  }
}
