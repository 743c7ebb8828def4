package depstest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mostNames is the most exported names of the packages that users call. It may be lowered.
const mostNames = 623

// TestNames counts what a user has to choose from: the exported constants, variables, types and
// functions of each package that users call, and the methods that its exported types declare.
// Methods of interfaces and of embedded types are not counted again, and neither are packages for
// those who write a store or a transport (driver) or test one.
func TestNames(t *testing.T) {
	g := build(t)
	var table strings.Builder
	names, methods := 0, 0
	for _, path := range g.public() {
		if !isCalled(path) {
			continue
		}
		dir := filepath.Join("../..", strings.TrimPrefix(path, module))
		top, of, err := exported(dir)
		require.NoError(t, err)
		names, methods = names+len(top), methods+len(of)
		fmt.Fprintf(&table, "%-32s %4d %4d\n", path, len(top), len(of))
	}
	total := names + methods
	t.Logf("exported names, by package: top level, methods\n%s%-32s %4d %4d, together %d", table.String(), "all", names, methods, total)
	switch {
	case total > mostNames:
		t.Errorf("users have %d exported names to choose from, at most %d were allowed; move what only a store needs into driver, or unexport it (go test -v has the table)", total, mostNames)
	case total < mostNames:
		t.Errorf("users have %d exported names to choose from: lower mostNames from %d", total, mostNames)
	}
}

// isCalled reports whether applications call a public package.
func isCalled(path string) bool {
	return path == "millracetest" || !isTest(path) && !slices.Contains(strings.Split(path, "/"), "driver")
}

// exported returns the exported names of the package in a folder, on any system, and the
// exported methods of its exported types, sorted.
func exported(dir string) (names, methods []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, entry.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					names = append(names, namesOf(spec)...)
				}
			case *ast.FuncDecl:
				if d.Recv == nil {
					names = append(names, d.Name.Name)
				} else if of := receiver(d.Recv.List[0].Type); ast.IsExported(of) && d.Name.IsExported() {
					methods = append(methods, of+"."+d.Name.Name)
				}
			}
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !ast.IsExported(name) })
	slices.Sort(names)
	slices.Sort(methods)
	return slices.Compact(names), slices.Compact(methods), nil
}

// namesOf returns the names that a declaration of types, constants or variables declares.
func namesOf(spec ast.Spec) (names []string) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		names = append(names, s.Name.Name)
	case *ast.ValueSpec:
		for _, name := range s.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

// receiver returns the name of a receiver's type.
func receiver(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
