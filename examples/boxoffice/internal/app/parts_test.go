package app

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The box office stays made of parts: no type of this package or of the API has more
// methods than a reader keeps in mind.
func TestPartsAreSmall(t *testing.T) {
	t.Parallel()
	const most = 20
	methods := map[string]int{}
	for _, folder := range []string{".", filepath.Join("..", "api")} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			for _, d := range parsed.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
					methods[parsed.Name.Name+"."+receiver(f.Recv.List[0].Type)]++
				}
			}
		}
	}
	require.Contains(t, methods, "app.office")
	require.Contains(t, methods, "api.bookingRoutes")
	for part, n := range methods {
		require.LessOrEqual(t, n, most, "%s has too many methods: make a part of some of them", part)
	}
}

// receiver is the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
