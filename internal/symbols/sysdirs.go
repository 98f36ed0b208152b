package symbols

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ldSoConf is the loader's list of further library directories.
const ldSoConf = "/etc/ld.so.conf"

// maxIncludes bounds nested includes, which may be circular.
const maxIncludes = 8

// SystemDirs gives the library directories of the dynamic loader below a root
// directory ("/" for the system's own): the built-in ones and those of
// ld.so.conf. An image below one of them is the system's. Directories that are
// links stand there under both names, since maps shows resolved paths.
func SystemDirs(root string) []string {
	// The loader's cache (ld.so.cache) lists files and not directories, and says
	// nothing about those that came since ldconfig ran; so the sources are read.
	dirs := []string{"/lib", "/usr/lib", "/lib64", "/usr/lib64"}
	dirs = append(dirs, readLdConf(root, ldSoConf, maxIncludes)...)
	for _, d := range slices.Clone(dirs) {
		if real, err := filepath.EvalSymlinks(filepath.Join(root, d)); err == nil {
			if below, err := filepath.Rel(root, real); err == nil && !strings.HasPrefix(below, "..") {
				dirs = append(dirs, "/"+below)
			}
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// readLdConf reads one file of the ld.so.conf format: a directory a line,
// "include PATTERN", and # comments.
func readLdConf(root, path string, depth int) []string {
	f, err := os.Open(filepath.Join(root, path))
	if err != nil || depth == 0 {
		return nil
	}
	defer f.Close()
	var dirs []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "#")
		line = strings.TrimSpace(line)
		if pattern, ok := strings.CutPrefix(line, "include"); ok && strings.TrimLeft(pattern, " \t") != pattern {
			pattern = strings.TrimSpace(pattern)
			if !filepath.IsAbs(pattern) {
				pattern = filepath.Join(filepath.Dir(path), pattern)
			}
			files, _ := filepath.Glob(filepath.Join(root, pattern)) // only a bad pattern is an error
			for _, file := range files {
				if below, err := filepath.Rel(root, file); err == nil {
					dirs = append(dirs, readLdConf(root, "/"+below, depth-1)...)
				}
			}
			continue
		}
		// Old files may say dir=libc6 or hwcap lines; only paths count.
		if line, _, _ = strings.Cut(line, "="); filepath.IsAbs(line) {
			dirs = append(dirs, filepath.Clean(line))
		}
	}
	return dirs
}

// below reports whether a path is in one of the directories or deeper.
func below(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool {
		return strings.HasPrefix(path, d) && (len(path) == len(d) || path[len(d)] == '/' || d == "/")
	})
}
