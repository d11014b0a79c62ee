# Writes the commit of a source tree to a header, unless the header already contains it:
# cmake -D SOURCE=folder -D HEADER=file -P build_commit.cmake. Outside of git the commit is empty.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --exclude=*
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                RESULT_VARIABLE failed)
if(failed)
  set(commit "")
endif()
file(CONFIGURE OUTPUT ${HEADER} @ONLY CONTENT [[
#pragma once
namespace tutti::perf {
inline constexpr const char* kBuildCommit = "@commit@";
}
]])
