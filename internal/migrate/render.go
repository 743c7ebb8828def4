package migrate

import (
	"fmt"
	"io/fs"
	"testing/fstest"
)

// Render returns the files of fsys that match the pattern, such as *.sql, with their texts
// edited, for tables whose names the user chooses. Check the names first.
func Render(fsys fs.FS, pattern string, edit func(text string) string) (fs.FS, error) {
	names, err := fs.Glob(fsys, pattern)
	if err != nil {
		return nil, fmt.Errorf("migrate: render: %w", err)
	}
	out := make(fstest.MapFS, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("migrate: render: %w", err)
		}
		out[name] = &fstest.MapFile{Data: []byte(edit(string(text)))}
	}
	return out, nil
}
