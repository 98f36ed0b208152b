package main

import (
	"fmt"
	"slices"
)

// Programs that compile while they run, one for each way to do it: Ruby's compiler protects its code again for each piece that it
// writes, V8 changes the protection of pages for a while, HotSpot's code is writable all the time, and LuaJIT protects each of its
// areas once it is full. The scripts do the same kinds of work: calls, objects, integers, a table by name.
func compilers() []program {
	return []program{
		{"ruby-yjit", script("rb", func(s size) string { return rubyScript(pick(s, 1_000_000, 200_000)) }, "ruby", "--yjit", "%s")},
		{"node", script("js", func(s size) string { return nodeScript(pick(s, 8_000_000, 1_600_000)) }, "node", "%s")},
		{"java", script("java", func(s size) string { return javaSource(pick(s, 8_000_000, 1_600_000)) }, "java", "%s")},
		{"luajit", script("lua", func(s size) string { return luaScript(pick(s, 8_000_000, 1_600_000)) }, "luajit", "%s")},
	}
}

func rubyScript(rounds int) string {
	return fmt.Sprintf(`class P
  attr_reader :x
  def initialize(x) = @x = x
  def add(o) = P.new((@x + o.x) %% 1_000_003)
end
def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)
s = P.new(0)
seen = Hash.new(0)
%d.times do |i|
  s = s.add(P.new(i))
  seen["k#{i %% 97}"] += s.x if i %% 8 == 0
end
puts fib(22), s.x, seen.values.sum
`, rounds)
}

func nodeScript(rounds int) string {
	return fmt.Sprintf(`class P {
  constructor(x) { this.x = x }
  add(o) { return new P((this.x + o.x) %% 1000003) }
}
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
let s = new P(0), seen = new Map()
for (let i = 0; i < %d; i++) {
  s = s.add(new P(i))
  if (i %% 8 == 0) { const k = "k" + i %% 97; seen.set(k, (seen.get(k) || 0) + s.x) }
}
console.log(fib(27), s.x, [...seen.values()].reduce((a, b) => a + b))
`, rounds)
}

func javaSource(rounds int) string {
	return fmt.Sprintf(`import java.util.*;
class Work {
  record P(int x) { P add(P o) { return new P((x + o.x) %% 1000003); } }
  static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
  public static void main(String[] a) {
    P s = new P(0);
    Map<String, Long> seen = new HashMap<>();
    for (int i = 0; i < %d; i++) {
      s = s.add(new P(i));
      if (i %% 8 == 0) seen.merge("k" + i %% 97, (long) s.x, Long::sum);
    }
    System.out.println(fib(27) + " " + s.x + " " + seen.values().stream().mapToLong(Long::longValue).sum());
  }
}
`, rounds)
}

func luaScript(rounds int) string {
	return fmt.Sprintf(`local P = {}
P.__index = P
local function new(x) return setmetatable({x = x}, P) end
function P:add(o) return new((self.x + o.x) %% 1000003) end
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local s, seen = new(0), {}
for i = 0, %d - 1 do
  s = s:add(new(i))
  if i %% 8 == 0 then local k = "k" .. i %% 97; seen[k] = (seen[k] or 0) + s.x end
end
local total = 0
for _, v in pairs(seen) do total = total + v end
print(fib(27), s.x, total)
`, rounds)
}

// compiles tells these programs: they have figures to reach of their own, and are none of those whose mean is taken.
func compiles(name string) bool {
	return slices.ContainsFunc(compilers(), func(p program) bool { return p.name == name })
}

// Slowdowns of translation that they are to stay below.
const mustCompiler, reachCompiler = 3, 2
