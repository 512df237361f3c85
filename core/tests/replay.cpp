// Gives inputs of fuzz/core.cpp to it once each, where there is no libFuzzer: on other processors
// and with other C libraries. Ends with 0 when all of them have passed.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int count, char** paths) {
  for (int i = 1; i < count; ++i) {
    std::ifstream file(paths[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", paths[i]);
      return 1;
    }
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    // As many again with other choices: what an input says last is a seed.
    for (int step = 1; step < 50; ++step) {
      std::vector<char> varied = bytes;
      for (std::size_t at = 0; at < varied.size(); at += static_cast<std::size_t>(step))
        varied[at] = static_cast<char>(varied[at] + step);
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(varied.data()), varied.size());
    }
  }
  std::printf("%d inputs, 50 calls each\n", count - 1);
  return count > 1 ? 0 : 1;
}
