package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompletionInBash: bash's own completion, by the script that the command writes, of a line with the cursor at its end or in front of the program. The function
// that takes the line apart is that of the package bash-completion, which need not be there: another stands for it.
func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/reuse/forks.c", "-O1")
	if err := os.Symlink(prog, filepath.Join(dir, "target")); err != nil {
		t.Fatal(err)
	}
	complete := func(line string) string {
		front, behind, _ := strings.Cut(line, "|")
		words := append(strings.Split(front, " "), strings.Fields(behind)...)
		script := fmt.Sprintf(`_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}; }
source <(%s completion bash)
COMP_WORDS=(%s) COMP_CWORD=%d COMP_TYPE=9 COMP_LINE=x COMP_POINT=1
__start_alleria
printf '%%s\n' "${COMPREPLY[@]%%%% *}"`, alleria(), quoteAll(append([]string{alleria()}, words[1:]...)), len(strings.Split(front, " "))-1)
		return string(run(t, command{argv: []string{"bash", "--norc", "-c", script}, dir: dir}).stdout)
	}
	for line, want := range map[string]string{
		"alleria record --on-call mai|./target":                   "main\n",
		"alleria record --on-call mai|--only count -- ./target x": "main\n",
		"alleria record --on-call qsort_|./target":                "qsort_r@libc.so.6\n",
		"alleria record --intercept qsort_r@|./target":            "\n",
		"alleria record --function qsort_|./target":               "\n",
		"alleria record --function mai|":                          "\n",
		"alleria new --program ./target --on-call mai|":           "main\n",
		"alleria record --follow th|./target":                     "threads\n",
		"alleria record --fields time,fu|":                        "time,function\n",
		"alleria record --max-size |":                             "\n",
	} {
		if got := complete(line); got != want {
			t.Errorf("%s: %q, not %q", line, got, want)
		}
	}
}

// quoteAll is words for a shell.
func quoteAll(words []string) string {
	var b strings.Builder
	for _, w := range words {
		fmt.Fprintf(&b, "'%s' ", w)
	}
	return b.String()
}
