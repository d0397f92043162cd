# shellcheck shell=bash
# SPDX-FileCopyrightText: 2026 The shunt authors
# SPDX-License-Identifier: Apache-2.0
# Sourced by ./run and ./test.

# Installs what scripts/packages.txt lists and is missing. On a system without apt-get, or without
# the right to use it, says what to install and goes on: the packages may be there by other names.
install_packages() {
  local list missing=() package sudo=()
  list=$(sed -e 's/#.*//' scripts/packages.txt)
  if ! command -v apt-get >/dev/null; then
    echo "no apt-get here; needed (Debian names):" $list >&2
    return
  fi
  for package in $list; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
      missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then return; fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "packages are missing and this is not root; run: apt-get install ${missing[*]}" >&2
      exit 1
    fi
    sudo=(sudo)
  fi
  echo "installing ${missing[*]}"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq update
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
    "${missing[@]}" >/dev/null
}
