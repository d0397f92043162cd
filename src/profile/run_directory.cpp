// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include <dirent.h>

#include "base/error.hpp"
#include "base/file.hpp"
#include "profile/rank_log.hpp"
#include "profile/run_json.hpp"

namespace shunt::profile {
namespace {

/// Names in a directory without "." and "..".
Result<std::vector<std::string>> list(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), &::closedir);
  if (!directory) return system_error(errno, "cannot read the directory {}", path);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

bool is_run_file(const std::string& name) {
  if (name == kRunFileName) return true;
  constexpr std::string_view kPrefix = "rank-";
  constexpr std::string_view kSuffix = ".rec";
  if (name.size() <= kPrefix.size() + kSuffix.size()) return false;
  if (name.compare(0, kPrefix.size(), kPrefix) != 0) return false;
  if (name.compare(name.size() - kSuffix.size(), kSuffix.size(), kSuffix) != 0) return false;
  const std::string digits =
      name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  return digits.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

Result<RunWriter> RunWriter::create(std::string path, Existing existing) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (path.empty()) return usage_error("the name of the run directory is empty");
  if (::mkdir(path.c_str(), 0777) == 0) return RunWriter(std::move(path));
  if (errno != EEXIST) return system_error(errno, "cannot create the run directory {}", path);
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return usage_error("{} exists and is not a directory; give another name", path);
  }
  auto names = list(path);
  if (!names) return Unexpected(std::move(names).error());
  bool former_run = false;
  for (const std::string& name : *names) {
    if (!is_run_file(name)) {
      return usage_error(
          "{} is not empty (it holds {}); give a new or an empty directory", path, name);
    }
    former_run = former_run || name == kRunFileName;
  }
  if (!names->empty() && existing == Existing::kRefuse) {
    return usage_error("{} holds a former run; give another directory, or --force to replace it",
                       path);
  }
  if (!names->empty() && !former_run) {
    return usage_error("{} holds record files but no {}; remove them or give another directory",
                       path,
                       kRunFileName);
  }
  if (former_run) {
    // Only what says itself that it is a run of ours is ever removed.
    if (auto run = read_run_info(path); !run) {
      return usage_error("{} is not replaced, its {} is not one of a run: {}",
                         path,
                         kRunFileName,
                         run.error().message);
    }
  }
  for (const std::string& name : *names) {
    const std::string file = fmt::format("{}/{}", path, name);
    if (::unlink(file.c_str()) != 0) return system_error(errno, "cannot remove {}", file);
  }
  return RunWriter(std::move(path));
}

Status RunWriter::write_info(const RunInfo& info) const {
  return write_file(fmt::format("{}/{}", path_, kRunFileName), to_json(info));
}

}  // namespace shunt::profile
