package app

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The box office stays made of parts: no type of it, its demo and its fakes has more
// methods than a reader keeps in mind, and no file is longer than a reader reads at once.
func TestPartsAreSmall(t *testing.T) {
	t.Parallel()
	const mostMethods, mostLines = 20, 400
	root := filepath.Join("..", "..")
	methods := map[string]int{}
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		lines := files.File(parsed.Pos()).LineCount()
		require.LessOrEqual(t, lines, mostLines, "%s is too long: make files of its parts", path)
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[filepath.ToSlash(folder)+"."+receiver(f.Recv.List[0].Type)]++
			}
		}
		return nil
	}))
	require.Contains(t, methods, "internal/app.office")
	require.Contains(t, methods, "internal/api.bookingRoutes")
	require.Contains(t, methods, "demo/audit.audit")
	for part, n := range methods {
		require.LessOrEqual(t, n, mostMethods, "%s has too many methods: make a part of some of them", part)
	}
}

// receiver is the name of a method's type, without its type parameters.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
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
