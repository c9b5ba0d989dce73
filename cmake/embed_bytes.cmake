# Writes a C++ file with the bytes of another:
# cmake -DIN=file -DOUT=file.cpp -DHEADER=header -DFUNCTION=name -P embed_bytes.cmake
file(READ ${IN} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "#include \"${HEADER}\"

namespace gradsync {

std::span<const unsigned char> ${FUNCTION}() {
  alignas(8) static constexpr unsigned char bytes[] = {
${bytes}};
  return bytes;
}

}  // namespace gradsync
")
