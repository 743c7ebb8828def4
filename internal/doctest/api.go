package doctest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// API has the exports of packages: their identifiers by the package's name, and the fields of
// struct types by package and type.
type API struct {
	Names  map[string]map[string]bool
	Fields map[string]map[string]bool
}

// exports records the exports of a file. Internal packages and commands cannot be imported.
func (a *API) exports(rel string, file *ast.File) {
	if strings.Contains(rel, "internal/") || strings.HasSuffix(rel, "_test.go") || file.Name.Name == "main" {
		return
	}
	pkg := file.Name.Name
	if a.Names[pkg] == nil {
		a.Names[pkg] = map[string]bool{}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				a.Names[pkg][d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				a.spec(pkg, spec)
			}
		}
	}
}

func (a *API) spec(pkg string, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range s.Names {
			a.Names[pkg][name.Name] = true
		}
	case *ast.TypeSpec:
		a.Names[pkg][s.Name.Name] = true
		fields := map[string]bool{}
		if t, ok := s.Type.(*ast.StructType); ok {
			for _, field := range t.Fields.List {
				for _, name := range field.Names {
					fields[name.Name] = true
				}
			}
		}
		a.Fields[pkg+"."+s.Name.Name] = fields
	}
}

var qualified = regexp.MustCompile(`^([a-z]+)\.([A-Z][A-Za-z0-9]*)(?:\.([A-Z][A-Za-z0-9]*))?`)

// Exported returns identifiers in Go blocks and code spans that a package of ours does not
// export, and fields that a struct does not have.
func (t *Tree) Exported(p Page) (wrong []Problem) {
	for _, s := range p.Code {
		m := qualified.FindStringSubmatch(s.Text)
		if m == nil || t.API.Names[m[1]] == nil {
			continue
		}
		if !t.API.Names[m[1]][m[2]] {
			wrong = append(wrong, p.problem(s.Line, "package %s exports no %s", m[1], m[2]))
		}
	}
	for _, b := range p.Blocks {
		if b.Lang != "go" {
			continue
		}
		fset := token.NewFileSet()
		file, before, err := parsed(fset, b.Text)
		if err != nil {
			continue // GoCode reports it
		}
		say := func(n ast.Node, format string, args ...any) {
			wrong = append(wrong, p.problem(b.Line+fset.Position(n.Pos()).Line-1-before, format, args...))
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if pkg, ok := n.X.(*ast.Ident); ok && t.API.Names[pkg.Name] != nil && ast.IsExported(n.Sel.Name) && !t.API.Names[pkg.Name][n.Sel.Name] && !t.shadowed(pkg.Name, b.Text) {
					say(n, "package %s exports no %s", pkg.Name, n.Sel.Name)
				}
			case *ast.CompositeLit:
				t.literal(n, say)
			}
			return true
		})
	}
	return wrong
}

// literal finds fields that the struct of a literal does not have.
func (t *Tree) literal(lit *ast.CompositeLit, say func(ast.Node, string, ...any)) {
	sel, ok := lit.Type.(*ast.SelectorExpr)
	if !ok {
		return
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok {
		return
	}
	name := pkg.Name + "." + sel.Sel.Name
	fields, known := t.API.Fields[name]
	if !known || len(fields) == 0 {
		return
	}
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if key, ok := kv.Key.(*ast.Ident); ok && !fields[key.Name] {
			say(key, "%s has no field %s", name, key.Name)
		}
	}
}

// shadowed reports whether a block has a variable of the package's name.
func (t *Tree) shadowed(name, text string) bool {
	return regexp.MustCompile(`\b` + name + `(, \w+)* :=`).MatchString(text)
}

// parsed parses a file, declarations or statements; before is the number of lines that were
// added before them.
func parsed(fset *token.FileSet, text string) (file *ast.File, before int, err error) {
	if file, err = parser.ParseFile(fset, "", text, 0); err == nil || strings.HasPrefix(strings.TrimSpace(text), "package ") {
		return file, 0, err
	}
	for i, whole := range []string{"package p\n" + text, "package p\nfunc _() {\n" + text + "\n}\n"} {
		if file, err = parser.ParseFile(fset, "", whole, 0); err == nil {
			return file, i + 1, nil
		}
	}
	return nil, 0, err
}
