# Large programs of the desktop, those that are installed one after the other: what each writes.
# desktop.sh PORT [TRACER ARGUMENT...]: says the same with and without a tracer; no port is used.
shift
has() { command -v "$1" >/dev/null; }
HOME=$(pwd)/home
SOURCE_DATE_EPOCH=1
export HOME SOURCE_DATE_EPOCH
mkdir home out
{ printf 'Hello\n'; seq 200; } >doc.txt
echo '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100"><circle cx="50" cy="50" r="40" fill="red"/></svg>' >a.svg
printf '\\documentclass{article}\\begin{document}Hello $x^2$ \\section{A} text\\end{document}\n' >a.tex
echo 'digraph { a->b; b->c; c->a; d->a; }' >a.dot
run() { "$@" >log 2>&1; echo "status $?"; }
! has soffice || { echo soffice; run "$@" soffice --headless --convert-to txt:Text --outdir out doc.txt; cksum <out/doc.txt; }
! has inkscape || { echo inkscape; run "$@" inkscape a.svg --export-type=png -o out/a.png; [ -s out/a.png ] && echo a picture; }
! has pdflatex || { echo pdflatex; run "$@" pdflatex -interaction batchmode -output-directory out a.tex; grep -a -v '/ID\|Date' out/a.pdf | cksum; }
! has ffmpeg || { echo ffmpeg; run "$@" ffmpeg -v error -y -f lavfi -i testsrc=size=160x120:rate=10:duration=2 -c:v mpeg4 -threads 2 -bitexact out/v.avi; cksum <out/v.avi; }
! has dot || { echo dot; run "$@" dot -Tsvg -o out/a.svg a.dot; cksum <out/a.svg; }
! has gimp || { echo gimp; run "$@" gimp -i -d -f -s -b '(let* ((i (car (gimp-image-new 64 64 RGB)))) (gimp-quit 0))'; }
exit 0
