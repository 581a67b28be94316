// Expressions: values, operators, filters, functions, and every refusal.

#include "recipe/expression/expression.h"

#include <gtest/gtest.h>

#include "recipe/expression/functions.h"
#include "support/matchers.h"
#include "support/text/json.h"
#include "unit/recipe/fake_variants.h"

namespace ptpkg::recipe {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::FakeVariants;
using ::ptpkg::test::HasHint;
using ::ptpkg::test::IsOkAndHolds;
using ::testing::HasSubstr;

class ExpressionTest : public ::testing::Test {
 protected:
  Result<Value> Evaluate(const std::string& text) {
    PTPKG_TRY(const Expression expression, Expression::Parse(text, {SourceSpan{"f", 1, 1, 1, text}, true}));
    return expression.Evaluate(scope_);
  }
  /// The JSON text of the result, or the error's message.
  std::string Show(const std::string& text) {
    const Result<Value> value = Evaluate(text);
    return value ? value->ToJson().dump() : "error: " + value.error().message();
  }

  FakeVariants variants_{{{"python", Value("3.11.* *_cpython")},
                          {"cuda_version", Value("13.0")},
                          {"gpu", Value(true)},
                          {"cxx_compiler", Value("clangxx")},
                          {"cxx_compiler_version", Value(std::int64_t{18})},
                          {"rust_compiler_version", Value(">=1.80")},
                          {"c_stdlib", Value("sysroot")},
                          {"c_stdlib_version", Value("2.28")},
                          {"cdt_name", Value("cos7")}}};
  std::map<std::string, std::string> environment_ = {{"TOKENS", "3"}, {"MY_TOKEN", "abc"}};
  Scope scope_{"linux-64", variants_, environment_};
};

TEST_F(ExpressionTest, ValuesThatGrowAreRefusedWithAPlace) {
  scope_.Define("a", Value(std::string(200'000, 'x')));
  const Result<Value> joined = Evaluate("a ~ a ~ a ~ a ~ a ~ a");
  ASSERT_THAT(joined, FailsWith(ErrorCode::kInvalidInput, "the value grows above 1 MiB"));
  EXPECT_EQ(joined.error().span()->column, 19);
  EXPECT_EQ(Show("a | replace('x', a)"), "error: the value grows above 1 MiB");
  EXPECT_EQ(Show("[1, 2, 3, 4, 5, 6, 7] | join(a)"), "error: the value grows above 1 MiB");
  EXPECT_EQ(Show("a | list | join(a)"), "error: the value grows above 1 MiB");
  EXPECT_EQ(Show("(a | split('x'))[:1]").substr(0, 6), "error:");
  EXPECT_EQ(Show("a | replace('xx', 'y') | length"), "100000");
}

TEST_F(ExpressionTest, AllValuesOfARecipeTogetherAreLimited) {
  scope_.Define("a", Value(std::string(1'000'000, 'x')));
  for (int i = 0; i < 70; ++i) {
    const Result<Value> value = Evaluate("a");
    if (value) continue;
    EXPECT_THAT(value, FailsWith(ErrorCode::kInvalidInput, "the values of this recipe grow above 64 MiB"));
    EXPECT_TRUE(value.error().span().has_value());
    EXPECT_GT(i, 60);
    return;
  }
  ADD_FAILURE() << "nothing was refused";
}

TEST_F(ExpressionTest, TheCharactersOfATextAreCodePoints) {
  const std::pair<const char*, const char*> cases[] = {
      {"'aä€😀' | length", "4"},
      {"'aä€😀' | list", R"(["a","ä","€","😀"])"},
      {"'aä€😀' | reverse", R"("😀€äa")"},
      {"'aä€😀' | first ~ ('aä€😀' | last)", R"("a😀")"},
      {"'aä€😀'[1]", R"("ä")"},
      {"'aä€😀'[-1]", R"("😀")"},
      {"'aä€😀'[4]", "error: index 4 is outside a value of 4 items"},
      {"'aä€😀'[1:3]", R"("ä€")"},
      {"'aä€😀'[::-2]", R"("😀ä")"},
      {"'äb' | slice(2)", R"([["ä"],["b"]])"},
      {"'ääb' | unique", R"(["ä","b"])"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Show(text), expected) << text;
}

TEST_F(ExpressionTest, LargeWholeNumbersCompareExactly) {
  const std::pair<const char*, const char*> cases[] = {
      {"9007199254740993 > 9007199254740992", "true"},
      {"9007199254740993 <= 9007199254740992", "false"},
      {"9007199254740993 == 9007199254740992.0", "false"},
      {"9007199254740993 > 9007199254740992.0", "true"},
      {"9223372036854775807 < 9223372036854775808.0", "true"},
      {"9007199254740992 == 9007199254740992.0", "true"},
      {"[9007199254740993, 9007199254740992] | sort", "[9007199254740992,9007199254740993]"},
      {"[9007199254740993, 9007199254740992] | max", "9007199254740993"},
      {"9007199254740993 is gt(9007199254740992)", "true"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Show(text), expected) << text;
}

TEST_F(ExpressionTest, UniqueKeepsTheFirst) {
  EXPECT_EQ(Show("['b', 'a', 'b', 1, 1.0, [1], [1], true, 'a'] | unique"), R"(["b","a",1,[1],true])");
  Value::List numbers;
  for (std::int64_t i = 0; i < 2000; ++i) numbers.emplace_back(i);
  scope_.Define("numbers", Value(numbers));
  EXPECT_EQ(Show("numbers | unique"), "error: 'unique' works on at most 1000 items that are not text");
}

TEST_F(ExpressionTest, Values) {
  const std::pair<const char*, const char*> cases[] = {
      {"1", "1"},
      {"-3", "-3"},
      {"1.5", "1.5"},
      {"'a\\n\\'b'", R"("a\n'b")"},
      {"\"x\"", R"("x")"},
      {"true", "true"},
      {"False", "false"},
      {"none", "null"},
      {"[]", "[]"},
      {"[1, 'a', [2,],]", R"([1,"a",[2]])"},
      {"gpu", "true"},
      {"(1)", "1"},
      {"9223372036854775807", "9223372036854775807"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Show(text), expected) << text;
}

TEST_F(ExpressionTest, Operators) {
  const std::pair<const char*, const char*> cases[] = {
      {"1 + 2 * 3", "7"},
      {"(1 + 2) * 3", "9"},
      {"7 // 2", "3"},
      {"-7 // 2", "-4"},
      {"7 % 3", "1"},
      {"-7 % 3", "2"},
      {"7 / 2", "3.5"},
      {"6 / 2", "3.0"},
      {"2 ** 10", "1024"},
      {"2 ** 3 ** 2", "64"},
      {"2 ** -1", "0.5"},
      {"1 - 2 - 3", "-4"},
      {"1 + 1.5", "2.5"},
      {"7.5 // 2", "3.0"},
      {"7.5 % 2", "1.5"},
      {"--2", "2"},
      {"'a' + 'b'", R"("ab")"},
      {"[1] + [2]", "[1,2]"},
      {"1 ~ 'a' ~ true ~ none", R"("1atrue")"},
      {"1 == 1.0", "true"},
      {"'1' == 1", "false"},
      {"1 != 2", "true"},
      {"2 < 10", "true"},
      {"'2' < '10'", "false"},
      {"2 <= 2", "true"},
      {"3 >= 4", "false"},
      {"3 > 2", "true"},
      {"2 in [1, 2]", "true"},
      {"'b' in 'abc'", "true"},
      {"2 not in [1, 2]", "false"},
      {"not 1 == 2", "true"},
      {"not not true", "true"},
      {"true or 1 // 0", "true"},
      {"false and 1 // 0", "false"},
      {"'' or 'x'", R"("x")"},
      {"1 if gpu else 2", "1"},
      {"1 if not gpu", "null"},
      {"1 if false else 2 if false else 3", "3"},
      {"[1,2,3][1]", "2"},
      {"[1,2,3][-1]", "3"},
      {"'abc'[0]", R"("a")"},
      {"-1 | abs", "1"},
      {"2 - -1", "3"},
      {"+2", "2"},
      {"not gpu or gpu and false", "false"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(Show(text), expected) << text;
  }
}

TEST_F(ExpressionTest, ConcatenationBindsTighterThanSum) {
  // Jinja's order: 1 ~ 2 is text, and text plus text is text.
  EXPECT_EQ(Show("1 ~ 2 + 3 ~ 4"), R"("1234")");
}

TEST_F(ExpressionTest, Filters) {
  const std::pair<const char*, const char*> cases[] = {
      {"'AbC' | lower", R"("abc")"},
      {"'AbC' | upper", R"("ABC")"},
      {"' x ' | trim", R"("x")"},
      {"'a-b-c' | replace('-', '_')", R"("a_b_c")"},
      {"13.0 | replace('.', '')", R"("130")"},
      {"'12' | int", "12"},
      {"' 7 ' | int", "7"},
      {"2.9 | int", "2"},
      {"true | int", "1"},
      {"5 | int", "5"},
      {"'' | bool", "false"},
      {"'x' | bool", "true"},
      {"[0] | bool", "true"},
      {"-3 | abs", "3"},
      {"-1.5 | abs", "1.5"},
      {"nope | default('d')", R"("d")"},
      {"gpu | default(1)", "true"},
      {"(1 if false) | default(2)", "2"},
      {"[3,1,2] | sort", "[1,2,3]"},
      {"['b','a'] | sort | first", R"("a")"},
      {"[1,2] | last", "2"},
      {"'abc' | first", R"("a")"},
      {"[1,2] | length", "2"},
      {"'abc' | length", "3"},
      {"['a', 1] | join('-')", R"("a-1")"},
      {"['a','b'] | join", R"("ab")"},
      {"[3,1] | min", "1"},
      {"['a','b'] | max", R"("b")"},
      {"[1,2,1] | unique", "[1,2]"},
      {"'a,b' | split(',')", R"(["a","b"])"},
      {"' a  b ' | split", R"(["a","b"])"},
      {"'a,,b'.split(',')", R"(["a","","b"])"},
      {"'ab' | list", R"(["a","b"])"},
      {"[1,2] | reverse", "[2,1]"},
      {"'ab' | reverse", R"("ba")"},
      {"[1,2,3] | slice(2)", "[[1,2],[3]]"},
      {"[1] | slice(2)", "[[1],[]]"},
      {"python | version_to_buildstring", R"("311")"},
      {"'3' | version_to_buildstring", R"("3")"},
      {"cuda_version.split('.')[0] | int + 1", "14"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Show(text), expected) << text;
}

TEST_F(ExpressionTest, Functions) {
  const std::pair<const char*, const char*> cases[] = {
      {"compiler('c')", R"("gcc_linux-64")"},
      {"compiler('cxx')", R"("clangxx_linux-64 =18")"},
      {"compiler('fortran')", R"("gfortran_linux-64")"},
      {"compiler('rust')", R"("rust_linux-64 >=1.80")"},
      {"stdlib('c')", R"("sysroot_linux-64 =2.28")"},
      {"cdt('libgl')", R"("libgl-cos7-x86_64")"},
      {"cdt('libgl 1.0')", R"("libgl-cos7-x86_64 1.0")"},
      {"match(python, '>=3.10,<3.12')", "true"},
      {"match(python, '3.12.*')", "false"},
      {"match(cuda_version, '>=12.8')", "true"},
      {"env.get('TOKENS')", R"("3")"},
      {"env.get('NONE', default='d')", R"("d")"},
      {"env.get('NONE', 'd')", R"("d")"},
      {"env.exists('TOKENS')", "true"},
      {"env.exists('NONE')", "false"},
      {"is_linux('linux-64')", "true"},
      {"is_unix('osx-arm64')", "true"},
      {"is_osx('linux-64')", "false"},
      {"is_win('win-64')", "true"},
      {"is_windows('win-64')", "true"},
      {"fail('no') if false else 'yes'", R"("yes")"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Show(text), expected) << text;
}

TEST_F(ExpressionTest, CompilersByPlatform) {
  const struct {
    const char* platform;
    const char* c;
    const char* cxx;
    const char* fortran;
  } cases[] = {{"osx-arm64", "clang_osx-arm64", "clangxx_osx-arm64", "gfortran_osx-arm64"},
               {"win-64", "vs2022_win-64", "vs2022_win-64", "flang_win-64"},
               {"linux-aarch64", "gcc_linux-aarch64", "gxx_linux-aarch64", "gfortran_linux-aarch64"},
               {"emscripten-wasm32", "emscripten_emscripten-wasm32", "emscripten_emscripten-wasm32",
                "gfortran_emscripten-wasm32"}};
  FakeVariants none;
  for (const auto& c : cases) {
    Scope scope(c.platform, none, environment_);
    EXPECT_THAT(CallFunction("compiler", {{Value("c")}, {}}, scope), IsOkAndHolds(Value(c.c)));
    EXPECT_THAT(CallFunction("compiler", {{Value("cxx")}, {}}, scope), IsOkAndHolds(Value(c.cxx)));
    EXPECT_THAT(CallFunction("compiler", {{Value("fortran")}, {}}, scope), IsOkAndHolds(Value(c.fortran)));
  }
}

TEST_F(ExpressionTest, PlatformNames) {
  EXPECT_EQ(Show("[linux, unix, osx, win, emscripten]"), "[true,true,false,false,false]");
  EXPECT_EQ(Show("[x86_64, aarch64, arm64, ppc64le, s390x, riscv64]"),
            "[true,false,false,false,false,false]");
  EXPECT_EQ(Show("target_platform == host_platform"), "true");
  EXPECT_TRUE(variants_.read.empty());
  EXPECT_EQ(Show("build_platform"), R"("linux-64")");
  EXPECT_TRUE(variants_.read.contains("build_platform"));
}

TEST_F(ExpressionTest, ReadsOnlyWhatItEvaluates) {
  EXPECT_EQ(Show("1 if gpu else cuda_version"), "1");
  EXPECT_EQ(variants_.read, (std::set<std::string>{"gpu"}));
  EXPECT_EQ(Show("compiler('rust')"), R"("rust_linux-64 >=1.80")");
  EXPECT_EQ(variants_.read, (std::set<std::string>{"gpu", "rust_compiler_version"}));
}

TEST_F(ExpressionTest, ContextComesBeforeVariants) {
  const auto before = scope_.Defined();
  scope_.Define("gpu", Value("mine"));
  EXPECT_EQ(Show("gpu"), R"("mine")");
  EXPECT_TRUE(variants_.read.empty());
  scope_.Restore(before);
  EXPECT_EQ(Show("gpu"), "true");
}

TEST_F(ExpressionTest, RefusesSyntax) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "an expression is missing"},
      {"1 +", "expected a value, found the end of the expression"},
      {"1 2", "expected an operator or the end, found '2'"},
      {"(1", "expected ')', found the end of the expression"},
      {"[1 2]", "expected ',' or ']', found '2'"},
      {"[1][0", "expected ']', found the end of the expression"},
      {"'abc", "text without its closing quote"},
      {"'a\\q'", "unknown escape in text"},
      {"1.2.3", "'1.2' is followed by more than a number"},
      {"3x", "'3' is followed by more than a number"},
      {"a ? b", "unexpected '?' in an expression"},
      {"if", "expected a value, found 'if'"},
      {"1 | ", "expected a filter name, found the end of the expression"},
      {"1 | frob", "unknown filter 'frob'"},
      {"frob(1)", "unknown function 'frob'"},
      {"env.put('x')", "unknown function 'env.put'"},
      {"env.get", "expected '(' after 'env.get', found the end of the expression"},
      {"'x'.upper()", "values have no '.upper()'"},
      {"'x'.1", "expected a key or a method name, found '1'"},
      {"compiler('c' 'd')", "expected ',' or ')', found 'd'"},
      {"pin_subpackage(exact=true, 'x')", "expected a named argument, found 'x'"},
      {"99999999999999999999", "'99999999999999999999' is too large for a number"},
  };
  for (const auto& [text, message] : cases) {
    const Result<Value> value = Evaluate(text);
    ASSERT_THAT(value, FailsWith(ErrorCode::kInvalidInput, message)) << text;
    EXPECT_TRUE(value.error().span().has_value()) << text;
  }
}

TEST_F(ExpressionTest, SlicesAreThoseOfPython) {
  scope_.Define("v", Value("1.2.3"));
  scope_.Define("l", Value(Value::List{Value("a"), Value("b"), Value("c")}));
  const std::pair<const char*, const char*> cases[] = {
      {"v[0:3]", R"("1.2")"},
      {"v[:-2]", R"("1.2")"},
      {"v[2:]", R"("2.3")"},
      {"v[:]", R"("1.2.3")"},
      {"v[::2]", R"("123")"},
      {"v[::-1]", R"("3.2.1")"},
      {"l[1:]", R"(["b","c"])"},
      {"l[-2:-1]", R"(["b"])"},
      {"l[::-1]", R"(["c","b","a"])"},
      {"l[5:]", "[]"},
      {"l[-9:2]", R"(["a","b"])"},
      {"l[2:0:-1]", R"(["c","b"])"},
      {"l[:1:-1]", R"(["c"])"},
      {"l[9::-2]", R"(["c","a"])"},
      {"(v | split('.'))[:2] | join('.')", R"("1.2")"},
      {"l[-9:-8:-1]", "[]"},
      {"[][:]", "[]"},
  };
  for (const auto& [text, result] : cases) EXPECT_EQ(Show(text), result) << text;
  EXPECT_EQ(Show("l[::0]"), "error: the step of a slice must not be 0");
  EXPECT_EQ(Show("l['a':]"), "error: a bound of a slice must be a whole number, not text");
  EXPECT_EQ(Show("7[1:]"), "error: a number has no slices");
  EXPECT_EQ(Show("l[]"), "error: expected an index, found the end of the expression");
}

TEST_F(ExpressionTest, TuplesAndMappings) {
  EXPECT_EQ(Show("(1, 2)[1]"), "2");
  EXPECT_EQ(Show("(1,)"), "[1]");
  EXPECT_EQ(Show("()"), "[]");
  EXPECT_EQ(Show("(1)"), "1");
  EXPECT_EQ(Show("'a' in ('a', 'b')"), "true");
  EXPECT_EQ(Show("{'a': {'b': 1}}.a.b"), "1");
  EXPECT_EQ(Show("{}"), "{}");
  EXPECT_EQ(Show("{'a': 1, 'a': 2,}['a']"), "2");
  EXPECT_EQ(Show("{'cuda': 'x'}[v | default('cuda')]"), R"("x")");
  EXPECT_EQ(Show("{'a' 1}"), "error: expected ':' behind the key, found '1'");
  EXPECT_EQ(Show("(1, 2"), "error: expected ',' or ')', found the end of the expression");
}

TEST_F(ExpressionTest, ComparisonsChain) {
  EXPECT_EQ(Show("1 < 2 < 3"), "true");
  EXPECT_EQ(Show("3 > 2 > 1"), "true");
  EXPECT_EQ(Show("3 > 2 == 1"), "false");
  EXPECT_EQ(Show("1 < 3 < 2"), "false");
  EXPECT_EQ(Show("'a' in 'abc' != 'x'"), "true");
  EXPECT_EQ(Show("2 < 1 < 'x'"), "false");  // what a failed comparison leaves is not compared
}

TEST_F(ExpressionTest, TestsAreThoseOfRattlerBuild) {
  const std::pair<const char*, const char*> cases[] = {
      {"python is startingwith('3.')", "true"},
      {"python is startingwith '3.1'", "true"},
      {"cuda_version is endingwith('.1')", "false"},
      {"nope is defined", "false"},
      {"nope is undefined", "true"},
      {"python is not defined", "false"},
      {"not nope is defined", "true"},
      {"{'a': 1}.b is defined", "false"},
      {"nope.b.c is defined", "false"},
      {"none is none", "true"},
      {"7 is odd and 8 is even", "true"},
      {"7 is integer and 7 is int and 7 is number", "true"},
      {"7.5 is float and 7.5 is number", "true"},
      {"'x' is string and [1] is sequence and true is boolean", "true"},
      {"7 is eq 7 and 7 is ne(8) and 7 is lt 8 and 7 is le 7 and 8 is gt 7 and 8 is ge 8", "true"},
      {"7 is in [7, 8]", "true"},
      {"1 + 1 is odd", "error: '+' does not work on a number and a boolean"},
      {"7 is divisibleby 7", "error: unknown test 'divisibleby'"},
      {"7 is", "error: expected the name of a test, found the end of the expression"},
      {"7 is odd(1)", "error: 'is odd' takes no argument"},
      {"7 is eq()", "error: 'is eq' takes one argument without a name"},
      {"'x' is odd", "error: 'is odd' works on a whole number, not on text"},
      {"7 is startingwith '7'", "error: 'is startingwith' works on text, not on a number"},
      {"nope is string", "error: 'is string' needs a value, and this one is undefined"},
  };
  for (const auto& [text, result] : cases) EXPECT_EQ(Show(text), result) << text;
}

TEST_F(ExpressionTest, ArgumentsOfFiltersThatRecipesUse) {
  EXPECT_EQ(Show("[1, 3, 2] | sort(reverse=true)"), "[3,2,1]");
  EXPECT_EQ(Show("'a,b,c' | split(',', 1)"), R"(["a","b,c"])");
  EXPECT_EQ(Show("'' | default('d')"), R"("")");
  EXPECT_EQ(Show("'' | default('d', true)"), R"("d")");
  EXPECT_EQ(Show("'' | default('d', boolean=true)"), R"("d")");
  EXPECT_EQ(Show("nope.x.y | default('d')"), R"("d")");
  EXPECT_EQ(Show("'ab' * 3"), R"("ababab")");
  EXPECT_EQ(Show("'ab' * -1"), R"("")");
  EXPECT_EQ(Show("'ab' * 9999999"), "error: the value grows above 1 MiB");
  EXPECT_EQ(Show("[1] | sort(key=1)"), "error: filter 'sort' has no argument 'key'");
  EXPECT_EQ(Show("'ab'.startswith('a') and 'ab'.endswith('b')"), "true");
  EXPECT_EQ(Show("{}.startswith('a')"), "error: '.startswith()' works on text, not on a mapping");
}

TEST_F(ExpressionTest, RefusesOperands) {
  const std::pair<const char*, const char*> cases[] = {
      {"nope", "undefined name 'nope'"},
      {"hash", "undefined name 'hash'"},
      {"1 + 'a'", "'+' does not work on a number and text"},
      {"[1] - [1]", "'-' does not work on a list and a list"},
      {"1 < 'a'", "'<' does not work on a number and text"},
      {"1 in 2", "'in' does not work on a number and a number"},
      {"1 not in 2", "'not in' does not work on a number and a number"},
      {"-'a'", "'-' does not work on text"},
      {"1 // 0", "division by zero"},
      {"1 % 0", "division by zero"},
      {"1 / 0", "division by zero"},
      {"9223372036854775807 + 1", "the result is too large for a number"},
      {"9223372036854775807 * 2", "the result is too large for a number"},
      {"-9223372036854775807 - 2", "the result is too large for a number"},
      {"10 ** 19", "the result is too large for a number"},
      {"[1] ~ 'a'", "a list cannot be put into text"},
      {"[1]['a']", "an index must be a whole number, not text"},
      {"[1][1]", "index 1 is outside a value of 1 items"},
      {"[1][-2]", "index -2 is outside a value of 1 items"},
      {"1[0]", "a number cannot be indexed"},
      {"1 | lower", "'lower' works on text, not on a number"},
      {"1 | length", "'length' works on a list or text, not on a number"},
      {"'x' | abs", "'abs' works on a number, not on text"},
      {"'x' | int", "'x' is not a whole number"},
      {"(10.0 ** 400 - 10.0 ** 400) | int", "'int' works on a number, not on the result of 'inf - inf'"},
      {"[] | int", "'int' works on a number or text, not on a list"},
      {"1e3 | int", "'1' is followed by more than a number"},
      {"[] | first", "'first' works on a value with at least one item"},
      {"[] | last", "'last' works on a value with at least one item"},
      {"[] | max", "'max' works on a value with at least one item"},
      {"[] | min", "'min' works on a value with at least one item"},
      {"[1, 'a'] | sort", "'sort' needs items that are all numbers or all text"},
      {"'a' | replace('', 'b')", "'replace' needs a text to look for"},
      {"'a' | replace('b')", "filter 'replace' takes 2 arguments without names"},
      {"'a' | split('')", "'split' needs a separator that is not empty"},
      {"[1] | slice(0)", "'slice' takes a number from 1 to 1000"},
      {"'a' | lower(1)", "filter 'lower' takes 0 arguments without names"},
      {"[[1]] | join", "a list cannot be put into text"},
      {"compiler()", "compiler() takes 1 argument, 0 given"},
      {"compiler(1)", "compiler() takes text, not a number"},
      {"compiler('c', x='y')", "compiler() has no argument 'x'"},
      {"env.get('NONE')", "environment variable 'NONE' is not set"},
      {"env.get('MY_TOKEN', default='')",
       "recipes cannot read environment variable 'MY_TOKEN': by its name it holds a secret"},
      {"fail('1.1 has no ' ~ 'kineto')", "1.1 has no kineto"},
      {"'x' if false else fail('no')", "no"},
      {"env.get()", "env.get() takes 1 to 2 arguments, 0 given"},
      {"stdlib('cxx')", "no standard library is set for the language 'cxx'"},
      {"match(nope, '1')", "undefined name 'nope'"},
      {"match('', '1')", "'' is not a version: it is empty"},
      {"match('1', 'x y')",
       "'x y' is not a version constraint: only letters, digits and . _ - + ! are allowed"},
      {"pin_subpackage('x')", "pin_subpackage() needs the build string, which is not known here"},
      {"pin_compatible('x')", "pin_compatible() needs the host requirements, which are not known here"},
      {"pin_subpackage('x', exact=1)", "exact takes true or false"},
      {"pin_subpackage('x', exact=true, upper_bound='x')", "a pin with 'exact' takes no other argument"},
      {"pin_subpackage('x', lower_bound=1)", "lower_bound takes text such as 'x.x', not a number"},
      {"pin_compatible('x', min_pin='x')", "pin_compatible() has no argument 'min_pin'"},
  };
  for (const auto& [text, message] : cases) {
    const Result<Value> value = Evaluate(text);
    ASSERT_THAT(value, FailsWith(ErrorCode::kInvalidInput, message)) << text;
    EXPECT_TRUE(value.error().span().has_value()) << text;
  }
}

TEST_F(ExpressionTest, Pins) {
  scope_.pins() = {"toy", "1.2.3", "h1234567_0", {{"numpy", "1.26"}}, true};
  const std::pair<const char*, const char*> cases[] = {
      {"pin_subpackage('toy')", R"("toy >=1.2.3,<2.0a0")"},
      {"pin_subpackage('toy', exact=true)", R"("toy ==1.2.3 h1234567_0")"},
      {"pin_subpackage('toy', lower_bound='x.x', upper_bound='x.x')", R"("toy >=1.2,<1.3.0a0")"},
      {"pin_subpackage('toy', upper_bound=none)", R"("toy >=1.2.3")"},
      {"pin_subpackage('toy', lower_bound=none, upper_bound=none)", R"("toy")"},
      {"pin_subpackage('toy', lower_bound=none, upper_bound=none, build='cuda*')", R"("toy * cuda*")"},
      {"pin_subpackage('toy', build='cuda*')", R"("toy >=1.2.3,<2.0a0 cuda*")"},
      {"pin_compatible('numpy')", R"("numpy >=1.26,<2.0a0")"},
      {"pin_compatible('numpy', exact=true)",
       "error: the build string of 'numpy' is not known before the environment is solved"},
      {"pin_compatible('scipy')", "error: cannot pin 'scipy': its version is not known"},
      {"pin_subpackage('other')", "error: 'other' is not an output of this recipe"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Show(text), expected) << text;
}

TEST_F(ExpressionTest, PointsAtTheOperand) {
  const Result<Value> value = Evaluate("1 + 2 * nope");
  ASSERT_FALSE(value.has_value());
  EXPECT_EQ(value.error().span()->column, 9);
  EXPECT_EQ(value.error().span()->length, 4);
  EXPECT_THAT(Evaluate("cuda_versoin"), HasHint("did you mean 'cuda_version'?"));
  EXPECT_THAT(Evaluate("hash"), HasHint("'hash' is only available in 'build.string'"));
  EXPECT_THAT(Evaluate("'a' | lwoer"), HasHint(HasSubstr("lower")));
}

TEST_F(ExpressionTest, LimitsDepthAndLength) {
  EXPECT_EQ(Show(std::string(60, '(') + "1" + std::string(60, ')')), "1");
  EXPECT_THAT(Evaluate(std::string(70, '(') + "1" + std::string(70, ')')),
              FailsWith(ErrorCode::kInvalidInput, "expression nested deeper than 64 levels"));
  const auto chain = [](std::string_view before, std::string_view link, int links) {
    std::string text(before);
    for (int i = 0; i < links; ++i) text += link;
    return text;
  };
  EXPECT_EQ(Show(chain("1", "+1", 200)), "201");
  const auto too_long =
      FailsWith(ErrorCode::kInvalidInput, "expression of more than 200 operations in a chain");
  EXPECT_THAT(Evaluate(chain("1", "+1", 201)), too_long);
  EXPECT_THAT(Evaluate(chain("1", "|int", 201)), too_long);
  EXPECT_THAT(Evaluate(chain("", "-", 201) + "1"), too_long);
  EXPECT_THAT(Evaluate(chain("", "not ", 201) + "1"), too_long);
  EXPECT_THAT(Evaluate(chain("1", "+1", 1000)),
              FailsWith(ErrorCode::kInvalidInput, "expression longer than 2000 bytes"));
}

TEST(Value, FromPlainScalar) {
  EXPECT_EQ(Value::FromPlainScalar("12").ToJson(), Json(12));
  EXPECT_EQ(Value::FromPlainScalar("-1").ToJson(), Json(-1));
  EXPECT_EQ(Value::FromPlainScalar("true").ToJson(), Json(true));
  EXPECT_EQ(Value::FromPlainScalar("False").ToJson(), Json(false));
  EXPECT_EQ(Value::FromPlainScalar("1.10").ToJson(), Json("1.10"));
  EXPECT_EQ(Value::FromPlainScalar("007").ToJson(), Json("007"));
  EXPECT_EQ(Value::FromPlainScalar("yes").ToJson(), Json("yes"));
  EXPECT_EQ(Value::FromPlainScalar("0").ToJson(), Json(0));
}

TEST(Value, LooksLikeReal) {
  for (const char* text : {"1.10", "-1.5", "1.", ".5", "2e3", "2.5E+3", "1e-3"})
    EXPECT_TRUE(LooksLikeReal(text)) << text;
  for (const char* text : {"3", "1.2.3", "1.0a", "e3", ".", "", "1.x", "v1.0"})
    EXPECT_FALSE(LooksLikeReal(text)) << text;
}

TEST(Value, ToText) {
  EXPECT_THAT(Value(2.0).ToText(), IsOkAndHolds(std::string("2.0")));
  EXPECT_THAT(Value(2.5).ToText(), IsOkAndHolds(std::string("2.5")));
  EXPECT_THAT(Value().ToText(), IsOkAndHolds(std::string()));
  EXPECT_THAT(Value(Value::List{}).ToText(),
              FailsWith(ErrorCode::kInvalidInput, "a list cannot be put into text"));
}

}  // namespace
}  // namespace ptpkg::recipe
