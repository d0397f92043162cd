// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/inputs.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include <glob.h>

#include "base/error.hpp"
#include "trace/perfetto_reader.hpp"

namespace shunt::cli {
namespace {

namespace fs = std::filesystem;

/// A pattern that matches nothing stays as it is, so that the error names it.
std::vector<std::string> expand(const std::string& pattern) {
  std::error_code error;
  if (pattern == "-" || fs::exists(pattern, error)) return {pattern};
  glob_t found{};
  std::vector<std::string> out;
  if (glob(pattern.c_str(), GLOB_TILDE, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) out.emplace_back(found.gl_pathv[i]);
  }
  globfree(&found);
  return out.empty() ? std::vector<std::string>{pattern} : out;
}

/// Files and run directories under a directory, in name order; hidden ones left out.
std::vector<std::string> files_under(const fs::path& directory) {
  std::vector<std::string> out;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(
           directory, fs::directory_options::skip_permission_denied, error);
       it != fs::recursive_directory_iterator();
       it.increment(error)) {
    if (error) break;
    const bool run = is_run_directory(it->path().string());
    if (run) it.disable_recursion_pending();
    if (it->path().filename().string().front() == '.') continue;
    if (run || it->is_regular_file(error)) out.push_back(it->path().string());
  }
  std::ranges::sort(out);
  return out;
}

class Sorter {
 public:
  Status add(const std::string& path) {
    std::error_code error;
    if (is_run_directory(path)) return keep(analyze_run(path));
    if (!fs::is_directory(path, error)) return add_file(path);
    const auto files = files_under(path);
    if (files.empty()) {
      return fail(
          ErrorCode::kCorrupt, ErrorScope::kUsage, "'{}' holds no files and no run.json", path);
    }
    for (const std::string& file : files) {
      SHUNT_TRY(is_run_directory(file) ? keep(analyze_run(file)) : add_file(file));
    }
    return {};
  }
  [[nodiscard]] Inputs take() { return std::move(inputs_); }

 private:
  Status add_file(const std::string& path) {
    std::error_code error;
    const fs::path real = path == "-" ? fs::path(path) : fs::weakly_canonical(path, error);
    if (!seen_.insert(error ? path : real.string()).second) return {};
    auto bytes = trace::open_bytes(path);
    if (!bytes) return Unexpected(std::move(bytes).error());
    const std::string name = path == "-" ? "standard input" : path;
    const bool again = path != "-" && fs::is_regular_file(path, error);
    if (trace::is_exported_run(**bytes)) {
      return keep(again ? analyze_run(path) : analyze_run(**bytes, name));
    }
    inputs_.logs.push_back({name, again ? nullptr : std::move(*bytes)});
    return {};
  }

  Status keep(Result<RunAnalysis> run) {
    if (!run) return Unexpected(std::move(run).error());
    inputs_.runs.push_back(std::move(*run));
    return {};
  }

  Inputs inputs_;
  std::set<std::string> seen_;
};

}  // namespace

Result<std::unique_ptr<trace::HeadSource>> LogInput::open() {
  if (bytes) return std::move(bytes);
  return trace::open_bytes(name);
}

Result<Inputs> open_inputs(std::span<const std::string> arguments) {
  Sorter sorter;
  for (const std::string& argument : arguments) {
    for (const std::string& path : expand(argument)) SHUNT_TRY(sorter.add(path));
  }
  return sorter.take();
}

std::vector<std::string> inputs_among(std::vector<std::string>& assignments) {
  std::vector<std::string> inputs;
  std::erase_if(assignments, [&inputs](const std::string& value) {
    if (value.find('=') != std::string::npos || !names_input(value)) return false;
    inputs.push_back(value);
    return true;
  });
  return inputs;
}

bool names_input(const std::string& argument) {
  std::error_code error;
  const std::string first = expand(argument).front();
  return first == "-" || fs::exists(first, error);
}

}  // namespace shunt::cli
