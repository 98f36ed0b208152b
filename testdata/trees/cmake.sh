# A project made by cmake and built by ninja.
# cmake.sh PORT [TRACER ARGUMENT...]: says the same with and without a tracer; no port is used.
shift
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.10)
project(p C)
file(GLOB S *.c)
add_executable(p ${S})
END
for i in 1 2 3 4 5 6; do echo "int f$i(void) { return $i; }" >f$i.c; done
echo 'int f1(void), f6(void); int main(void) { return f1() + f6(); }' >main.c
"$@" cmake -G Ninja . >cmake.log 2>&1
echo "cmake $?"
"$@" ninja >ninja.log 2>&1
echo "ninja $?"
./p
echo "p $?"
