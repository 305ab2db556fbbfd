#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace coordinator::service_test {

/// An empty directory that is gone after the test.
class temporary_directory {
public:
  temporary_directory() {
    auto pattern = (std::filesystem::temp_directory_path() / "mp-coordinator-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw std::runtime_error{"no temporary directory"};
    path_ = pattern;
  }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string path() const { return path_.string(); }

  /// Writes a file into it and returns its path.
  std::string file(const std::string& name, std::string_view content) const {
    const auto result = path_ / name;
    std::ofstream{result, std::ios::binary} << content;
    return result.string();
  }

private:
  std::filesystem::path path_;
};

} // namespace coordinator::service_test
