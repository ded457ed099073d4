# cmake -DOUTPUT=FILE.cc "-DFILES=FILE;..." -P EmbedAssets.cmake: writes the bytes of each file, plain and compressed, as
# src/console/assets.h has them.
set(types "html=text/html|css=text/css|js=text/javascript|svg=image/svg+xml")

# Sets `result` to a string literal with the file's bytes, in lines that compilers and editors can bear.
function(literal_of file result)
  file(READ "${file}" hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" text "${hex}")
  string(REPEAT "...." 64 line)
  string(REGEX REPLACE "(${line})" "\\1\"\n\"" text "${text}")
  set(${result} "\"${text}\"" PARENT_SCOPE)
endfunction()

get_filename_component(directory "${OUTPUT}" DIRECTORY)
set(constants "")
set(rows "")
set(number 0)
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME)
  get_filename_component(extension "${file}" LAST_EXT)
  string(SUBSTRING "${extension}" 1 -1 extension)
  string(REGEX MATCH "${extension}=([a-z/+]+)" type "${types}")
  set(type "${CMAKE_MATCH_1}")
  file(SHA256 "${file}" digest)
  string(SUBSTRING "${digest}" 0 16 digest)
  execute_process(COMMAND gzip -9nc "${file}" OUTPUT_FILE "${directory}/${name}.gz" COMMAND_ERROR_IS_FATAL ANY)
  literal_of("${file}" plain)
  literal_of("${directory}/${name}.gz" compressed)
  string(APPEND constants
    "constexpr std::string_view kPlain${number} = ${plain}sv;\nconstexpr std::string_view kGzip${number} = ${compressed}sv;\n")
  string(APPEND rows "    Asset{\"${name}\", \"${type}; charset=utf-8\", \"\\\"${digest}\\\"\", kPlain${number}, kGzip${number}},\n")
  math(EXPR number "${number} + 1")
endforeach()

file(WRITE "${OUTPUT}" "// Made by cmake/EmbedAssets.cmake.
#include \"console/assets.h\"

#include <array>

namespace once::console {
namespace {

using std::string_view_literals::operator\"\"sv;

// Longer than the standard asks compilers to take; both of ours do.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored \"-Woverlength-strings\"
${constants}
#pragma GCC diagnostic pop

constexpr std::array kAssets = {
${rows}};

}  // namespace

std::span<const Asset> assets() { return kAssets; }

const Asset* find_asset(std::string_view name) {
  for (const Asset& asset : kAssets) {
    if (asset.name == name) return &asset;
  }
  return nullptr;
}

}  // namespace once::console
")
