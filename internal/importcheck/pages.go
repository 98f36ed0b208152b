package importcheck

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Pages that tell where things are name folders and files. These are held to what is there: a name that contains a slash, in all pages for
// developers; on those that lead to places, that of a file by itself as well, which lies in a folder that was named before it in the same paragraph or row.

// architecture is the page with the table of folders.
const architecture = "docs/architecture.md"

// leading are the pages that lead to places.
func leading() []string {
	return []string{architecture, "docs/internal/README.md", "docs/internal/engine.md"}
}

// pages are those that are held to the tree.
func pages(root string) ([]string, error) {
	all := leading()
	for _, pattern := range []string{"docs/internal/*.md", "docs/internal/engine/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			rel, err := filepath.Rel(root, name)
			if err != nil {
				return nil, err
			}
			if rel = filepath.ToSlash(rel); !slices.Contains(all, rel) {
				all = append(all, rel)
			}
		}
	}
	return all, nil
}

var (
	span     = regexp.MustCompile("`([^`]+)`")
	fileName = regexp.MustCompile(`^[A-Za-z_][\w.*-]*(/[\w.*-]+)*/?$`)
	newPart  = regexp.MustCompile(`^(\||- |\d+\. |#)`)
	ofTest   = regexp.MustCompile(`\.(Test|Fuzz|Benchmark)\w*$`) // a test of a folder
	ofFile   = regexp.MustCompile(`\.(go|S|html|xml|md|txt|ksy)$`)
)

// CheckPages returns what pages name below root that is not there, and rows of the table of folders that differ from the rules.
func CheckPages(root string) ([]Violation, error) {
	all, err := pages(root)
	if err != nil {
		return nil, fmt.Errorf("page check: %w", err)
	}
	var found []Violation
	for _, page := range all {
		f, err := os.Open(filepath.Join(root, page))
		if err != nil {
			return nil, fmt.Errorf("page check: %w", err)
		}
		defer f.Close()
		found = append(found, checkPage(root, page, bufio.NewScanner(f))...)
	}
	return found, nil
}

// checkPage judges one page.
func checkPage(root, page string, lines *bufio.Scanner) (found []Violation) {
	var folders []string // that were named in the paragraph
	code := false
	rows := make(map[string]bool)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if code {
			continue
		}
		if strings.TrimSpace(line) == "" || newPart.MatchString(line) {
			folders = nil
		}
		for _, m := range span.FindAllStringSubmatch(line, -1) {
			name := m[1]
			if !strings.Contains(name, "/") && !slices.Contains(leading(), page) {
				continue
			}
			in, is := resolve(root, name, folders)
			switch {
			case !is:
			case in == "":
				found = append(found, Violation{page, n, fmt.Sprintf("%s is not there", name)})
			default:
				folders = append(folders, in)
			}
		}
		if page == architecture {
			if what := checkRow(line, rows); what != "" {
				found = append(found, Violation{page, n, what})
			}
		}
	}
	if page == architecture {
		found = append(found, missingRows(root, rows)...)
	}
	return found
}

// resolve finds what a name stands for, and returns its folder; is tells whether it is the name of a folder or file at all. Folders
// are where it may lie besides the root.
func resolve(root, name string, folders []string) (folder string, is bool) {
	first, _, deep := strings.Cut(name, "/")
	switch {
	case !fileName.MatchString(name), ofTest.MatchString(name):
		return "", false
	case deep && !isFolder(root, first): // another module's
		return "", false
	case !deep && !ofFile.MatchString(name):
		return name, isFolder(root, name)
	}
	for _, in := range append([]string{"."}, folders...) {
		full := path.Join(in, name)
		if isFolder(root, full) {
			return full, true
		}
		if all, err := filepath.Glob(filepath.Join(root, full)); err == nil && len(all) > 0 {
			return path.Dir(full), true
		}
	}
	return "", true
}

// isFolder tells whether there is such a folder below root.
func isFolder(root, name string) bool {
	info, err := os.Stat(filepath.Join(root, name))
	return err == nil && info.IsDir()
}

// checkRow holds a row of the table of folders to the rules, and says what is wrong with it.
func checkRow(line string, rows map[string]bool) string {
	cells := strings.Split(strings.Trim(line, "| "), " | ")
	if len(cells) != 3 || !strings.HasPrefix(cells[0], "`") {
		return ""
	}
	folder := strings.Trim(cells[0], "`/")
	rows[folder] = true
	_, allowed, known := ruleFor(folder)
	if !known {
		return folder + " has no row in the import rules"
	}
	if slices.Contains(allowed, all) {
		if !strings.HasPrefix(cells[2], "all") {
			return folder + " may import all"
		}
		return ""
	}
	var says []string
	for _, m := range span.FindAllStringSubmatch(cells[2], -1) {
		says = append(says, m[1])
	}
	slices.Sort(says)
	if want := slices.Sorted(slices.Values(allowed)); !slices.Equal(says, want) {
		return fmt.Sprintf("%s may import %s by the import rules, and %s by this row", folder, list(want), list(says))
	}
	return ""
}

// missingRows are rules of folders that are there and have no row.
func missingRows(root string, rows map[string]bool) (found []Violation) {
	table := rules()
	for _, folder := range slices.Sorted(maps.Keys(table)) {
		if !rows[folder] && isFolder(root, folder) && !slices.Contains(table[folder], all) {
			found = append(found, Violation{architecture, 1, folder + " has no row in the table of folders"})
		}
	}
	return found
}

func list(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}
