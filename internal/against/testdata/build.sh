#!/bin/sh
# build.sh DIR: the fixture in DIR, codec and its library. The tests of this package and of the command call it.
#
# A program of C++, without the C++ library because that would be decoded in each test, that is
# linked with a library under another name than the library's file has.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
cp "$here/codec.cc" "$here/helper.c" .
gcc -g -O1 -shared -fPIC -Wl,-soname,libhelper.so.1 helper.c -o libhelper.so.1.2
ln -s libhelper.so.1.2 libhelper.so.1
gcc -g -O1 codec.cc libhelper.so.1 -Wl,-rpath,'$ORIGIN' -o codec
