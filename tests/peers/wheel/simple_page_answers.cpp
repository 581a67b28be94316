// Answers of publish/servers/simple_page.h for simple_page_vs_pip.py: on each line of standard input a page
// as a JSON text, on standard output the digests of its entries named "toy-1.0-py3-none-any.whl" as a JSON
// list, "-" where there is none; or "error".

#include <iostream>
#include <string>
#include <vector>

#include "publish/servers/simple_page.h"
#include "support/text/json.h"

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto text = ptpkg::ParseJson(line, "line");
    if (!text || !text->is_string()) return 1;
    const ptpkg::HttpAnswer page{
        .status = 200, .headers = {{"content-type", "text/html"}}, .body = text->get<std::string>()};
    const auto found = ptpkg::publish::FindInSimplePage(page, "toy-1.0-py3-none-any.whl");
    if (!found) {
      std::cout << "\"error\"\n";
      continue;
    }
    ptpkg::Json digests = ptpkg::Json::array();
    for (const auto& file : found->files) digests.push_back(file.sha256.empty() ? "-" : file.sha256);
    std::cout << digests.dump() << "\n";
  }
  return 0;
}
