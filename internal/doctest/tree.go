package doctest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Tree is the known state of the sources that the pages describe.
type Tree struct {
	Root     string // "" if there are no files
	Pages    map[string]Page
	Tests    map[string]bool // functions Test…, Benchmark…, Fuzz… and Example…
	Literals map[string]bool // string constants of Go files
	Words    map[string]bool // identifiers of all sources, and the names of files
	Files    []string        // of the sources, from the root
	Targets  map[string]bool // of the Makefile
	API      API             // of the packages
	Comments []Comment       // tables of package comments
	Mentions []Mention       // sections of pages that other files name
	// Help returns a program's help for one of its commands, or an error if it has no such
	// command; nil if programs are not run.
	Help func(program string, command []string) (string, error)
}

// Comment is a table row of a package comment.
type Comment struct {
	Path string
	Line int
	Text string
}

// Mention is page.md#section in a file that is not a page.
type Mention struct {
	Path, Page, Anchor string
	Line               int
}

var (
	targetPattern  = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)
	mentionPattern = regexp.MustCompile(`(docs/[a-z-]+\.md|README\.md)#([a-z0-9-]+)`)
	testPattern    = regexp.MustCompile(`^(Test|Benchmark|Fuzz|Example)([A-Z_]|$)`)
)

// own is the folder with the planted errors.
const own = "internal/doctest"

// sources are the files whose words count.
var sources = []string{".go", ".sql", ".lua", ".sh", ".yml", ".yaml", ".json", ".js", ".html", ".mod", ".css"}

// Read walks the tree.
func Read(root string) (*Tree, error) {
	t := &Tree{
		Root: root, Pages: map[string]Page{}, Tests: map[string]bool{}, Literals: map[string]bool{},
		Words: map[string]bool{}, Targets: map[string]bool{},
		API: API{Names: map[string]map[string]bool{}, Fields: map[string]map[string]bool{}},
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".ci" || d.Name() == "build" || d.Name() == "node_modules" || rel == own) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		return t.file(path, rel)
	})
	if err != nil {
		return nil, fmt.Errorf("doctest: read the tree: %w", err)
	}
	return t, nil
}

func (t *Tree) file(path, rel string) error {
	base, ext := filepath.Base(rel), filepath.Ext(rel)
	page := ext == ".md" && (rel == base || strings.HasPrefix(rel, "docs/") || rel == "proof/REPORT.md") && base != "CHANGELOG.md"
	if !page && base != "Makefile" && !slices.Contains(sources, ext) && !strings.HasPrefix(rel, "scripts/") && !strings.HasPrefix(rel, ".ci/") {
		return nil
	}
	t.Files = append(t.Files, rel)
	for _, word := range underscore.FindAllString(base, -1) {
		t.Words[word] = true
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := string(raw)
	if page {
		t.Pages[rel] = Parse(rel, text)
		return nil
	}
	if base == "Makefile" {
		for _, m := range targetPattern.FindAllStringSubmatch(text, -1) {
			t.Targets[m[1]] = true
		}
	}
	for _, word := range strings.FieldsFunc(text, notInWord) {
		t.Words[strings.TrimLeft(word, "0123456789")] = true
	}
	for i, line := range strings.Split(text, "\n") {
		if strings.Contains(line, ".md#") { // the pattern takes far longer
			for _, m := range mentionPattern.FindAllStringSubmatch(line, -1) {
				t.Mentions = append(t.Mentions, Mention{rel, m[1], m[2], i + 1})
			}
		}
		if row, ok := strings.CutPrefix(line, "//\t"); ok && base == "doc.go" {
			t.Comments = append(t.Comments, Comment{rel, i + 1, row})
		}
	}
	if ext == ".go" {
		return t.goFile(rel, text)
	}
	return nil
}

// notInWord reports whether a rune separates the words of a source.
func notInWord(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// goFile records the names of tests and the string constants.
func (t *Tree) goFile(rel, text string) error {
	file, err := parser.ParseFile(token.NewFileSet(), rel, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	t.API.exports(rel, file)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil && testPattern.MatchString(n.Name.Name) {
				t.Tests[n.Name.Name] = true
			}
			if strings.HasPrefix(n.Name.Name, "case") { // of a suite: caseOrderPerKey is OrderPerKey
				t.Literals[strings.TrimPrefix(n.Name.Name, "case")] = true
			}
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && len(s) < 100 {
				t.Literals[s] = true
			}
		}
		return true
	})
	return nil
}

// sorted returns the pages by their paths.
func (t *Tree) sorted() []Page {
	var out []Page
	for _, path := range slices.Sorted(maps.Keys(t.Pages)) {
		out = append(out, t.Pages[path])
	}
	return out
}

// exists reports whether a path from the root exists.
func (t *Tree) exists(rel string) bool {
	if t.Root == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(t.Root, filepath.FromSlash(rel)))
	return err == nil
}
