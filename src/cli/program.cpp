// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/program.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "cli/version_text.hpp"

namespace shunt::cli {
namespace {

/// Set once by the Program; messages begin with it.
std::string& program_name() {
  static std::string name = "shunt";
  return name;
}

std::string help_head(const std::string& summary, const std::vector<std::string>& examples) {
  std::string head = "Examples:\n";
  for (const std::string& example : examples) head += fmt::format("  {}\n", example);
  return head + "\n" + summary + "\n";
}

/// CLI11's sentence for the arguments that no option took, reduced to the arguments.
std::string unexpected_arguments(const std::string& sentence) {
  const std::size_t colon = sentence.find(": ");
  return colon == std::string::npos ? sentence : sentence.substr(colon + 2);
}

/// CLI11's sentences where they are not ours.
std::string usage_words(const std::string& sentence) {
  const std::size_t colon = sentence.find(": ");
  if (colon == std::string::npos) return sentence;
  const std::string option = sentence.substr(0, colon);
  const std::string problem = sentence.substr(colon + 2);
  if (problem.starts_with("At Most 1 required")) return option + " is given more than once";
  constexpr std::string_view kMissing = "1 required ";
  if (problem.starts_with(kMissing) && problem.ends_with(" missing")) {
    return fmt::format("{} needs a value ({})",
                       option,
                       problem.substr(kMissing.size(), problem.size() - kMissing.size() - 8));
  }
  return sentence;
}

}  // namespace

const char* version() {
  return kVersion;
}

Exit exit_for(const Error& error, Exit system) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
      return Exit::kUsage;
    case ErrorCode::kCorrupt:
      return Exit::kInput;
    case ErrorCode::kSystem:
      return system;
    case ErrorCode::kUnsupported:
    case ErrorCode::kOutOfMemory:
    case ErrorCode::kPermission:
      return Exit::kEnvironment;
    case ErrorCode::kTimeout:
    case ErrorCode::kPeerLost:
    case ErrorCode::kProtocol:
    case ErrorCode::kPoisoned:
      return Exit::kRunFailed;
    case ErrorCode::kInternal:
      break;
  }
  return Exit::kInternal;
}

void complain(const std::string& message) {
  fmt::print(stderr, "{}: {}\n", program_name(), message);
}

Exit complain(const Error& error, Exit system) {
  complain(error.to_string());
  return exit_for(error, system);
}

Program::Program(std::string name,
                 const std::string& summary,
                 const std::vector<std::string>& examples)
    : name_(std::move(name)), app_(help_head(summary, examples), name_) {
  program_name() = name_;
  app_.set_help_flag("-h,--help", "Print this and exit");
  app_.add_flag("--version")->description("Print version, compiler and features, and exit");
}

CLI::App& Program::add_verb(const std::string& name,
                            const std::string& summary,
                            const std::vector<std::string>& examples,
                            std::function<Exit()> run) {
  CLI::App* verb = app_.add_subcommand(name, summary);
  verb->set_help_flag("-h,--help", "Print this and exit");
  // In the list of verbs the summary stands alone; the verb's own help begins with its examples.
  verb->footer("");
  verb->description(summary);
  verb->callback([] {});
  const std::string head = help_head(summary, examples);
  class VerbFormatter : public CLI::Formatter {
   public:
    explicit VerbFormatter(std::string text) : text_(std::move(text)) {}
    std::string make_description(const CLI::App* /*app*/) const override { return text_; }

   private:
    std::string text_;
  };
  verb->formatter(std::make_shared<VerbFormatter>(head));
  verbs_.emplace_back(verb, std::move(run));
  return *verb;
}

std::string Program::verb_names() const {
  std::string names;
  for (const auto& [verb, run] : verbs_) {
    names += names.empty() ? verb->get_name() : ", " + verb->get_name();
  }
  return names;
}

std::string Program::version_text() const {
  std::string text = fmt::format("{} {}\n  compiler {}\n", name_, kVersion, kCompiler);
  for (const std::string& feature : features_) text += fmt::format("  {}\n", feature);
  return text;
}

Exit Program::refuse_usage(const std::string& what) const {
  complain(what);
  return Exit::kUsage;
}

void Program::set_unnamed_verb(const CLI::App& verb,
                               std::string described,
                               std::function<bool(const std::string&)> means) {
  unnamed_ = {&verb, std::move(described), std::move(means)};
}

const CLI::App* Program::unnamed_verb(const std::string& first) const {
  if (unnamed_.verb == nullptr) return nullptr;
  if (first.size() > 1 && first[0] == '-') {
    const std::string option = first.substr(0, first.find('='));
    return unnamed_.verb->get_option_no_throw(option) != nullptr ? unnamed_.verb : nullptr;
  }
  return unnamed_.means(first) ? unnamed_.verb : nullptr;
}

std::string Program::unknown_words(const std::string& first) const {
  if (first.size() > 1 && first[0] == '-') {
    return fmt::format("unknown option '{}'; verbs: {}", first, verb_names());
  }
  if (unnamed_.verb == nullptr) {
    return fmt::format("unknown verb '{}'; verbs: {}", first, verb_names());
  }
  return fmt::format(
      "'{}' is no verb and no {}; verbs: {}", first, unnamed_.described, verb_names());
}

Exit Program::dispatch(std::vector<std::string> arguments) {
  if (arguments.empty()) {
    return refuse_usage(fmt::format(
        "no verb is given; verbs: {}; '{} --help' shows examples", verb_names(), name_));
  }
  const std::string first = arguments.front();
  if (first == "--version") {
    fmt::print("{}", version_text());
    return Exit::kDone;
  }
  if (first == "-h" || first == "--help") {
    fmt::print("{}", app_.help());
    return Exit::kDone;
  }
  const CLI::App* chosen = nullptr;
  for (const auto& [verb, run] : verbs_) {
    if (verb->get_name() == first) chosen = verb;
  }
  if (chosen == nullptr) {
    chosen = unnamed_verb(first);
    if (chosen == nullptr) return refuse_usage(unknown_words(first));
    arguments.insert(arguments.begin(), chosen->get_name());
  }
  const std::string name = chosen->get_name();
  const std::string see = fmt::format("'{} {} --help' shows what is allowed", name_, name);
  try {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app_.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", chosen->help(name_));
    return Exit::kDone;
  } catch (const CLI::ExtrasError& error) {
    return refuse_usage(
        fmt::format("{} does not know {}; {}", name, unexpected_arguments(error.what()), see));
  } catch (const CLI::ParseError& error) {
    return refuse_usage(fmt::format("{}; {}", usage_words(error.what()), see));
  }
  for (const auto& [verb, run] : verbs_) {
    if (verb == chosen) return run();
  }
  return Exit::kInternal;
}

int Program::run(int argc, const char* const* argv) {
  Exit status = Exit::kInternal;
  try {
    status = dispatch({argv + std::min(argc, 1), argv + argc});
  } catch (const std::bad_alloc&) {
    complain("out of memory");
    status = Exit::kEnvironment;
  } catch (const std::exception& error) {
    complain(fmt::format("internal error: {}; please report it", error.what()));
  }
  // What was printed may still sit in the buffer of a full disk.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    complain(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
    if (status == Exit::kDone) status = Exit::kEnvironment;
  }
  return static_cast<int>(status);
}

}  // namespace shunt::cli
