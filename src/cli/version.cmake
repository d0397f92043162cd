# SPDX-FileCopyrightText: 2026 The shunt authors
# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT from INPUT with the revision of SOURCE; run at each build, touches it only if the
# revision has changed. A tree without git has the plain version.
execute_process(
  COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=8 --exclude=*
  OUTPUT_VARIABLE revision
  ERROR_QUIET
  OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE failed)
set(SHUNT_VERSION_TEXT ${VERSION})
if(NOT failed AND revision)
  string(APPEND SHUNT_VERSION_TEXT "+g${revision}")
endif()
configure_file(${INPUT} ${OUTPUT} @ONLY)
