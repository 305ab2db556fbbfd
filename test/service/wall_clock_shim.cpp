// Loaded into the coordinator before the C library, this moves the wall clock by as many seconds as the file named by
// WALL_CLOCK_OFFSET_FILE holds at the moment, and leaves the monotonic clock alone: what an administrator or a bad NTP
// server does to a machine.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace {

std::time_t offset() {
  static const char* const path = std::getenv("WALL_CLOCK_OFFSET_FILE");
  const int file = path != nullptr ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0)
    return 0;
  char text[32]{};
  const auto size = ::read(file, text, sizeof text - 1);
  ::close(file);
  return size > 0 ? std::atol(text) : 0;
}

template <class Function>
Function* original(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

} // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* result) noexcept {
  static auto* const real = original<int(clockid_t, timespec*)>("clock_gettime");
  const int status = real(clock, result);
  if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    result->tv_sec += offset();
  return status;
}

int gettimeofday(timeval* result, void* zone) noexcept {
  static auto* const real = original<int(timeval*, void*)>("gettimeofday");
  const int status = real(result, zone);
  if (status == 0)
    result->tv_sec += offset();
  return status;
}

std::time_t time(std::time_t* result) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (result != nullptr)
    *result = now.tv_sec;
  return now.tv_sec;
}
}
