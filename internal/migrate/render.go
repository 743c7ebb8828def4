package migrate

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"
)

// Render returns the .sql files at the root of fsys with their texts edited, for tables whose
// names the user chooses. Check the names first.
func Render(fsys fs.FS, edit func(text string) string) (fs.FS, error) {
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("migrate: render: %w", err)
	}
	out := make(rendered, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("migrate: render: %w", err)
		}
		out[name] = []byte(edit(string(text)))
	}
	return out, nil
}

// rendered is a read-only file system of one flat folder.
type rendered map[string][]byte

func (r rendered) Open(name string) (fs.File, error) {
	if name == "." {
		names := make([]string, 0, len(r))
		for n := range r {
			names = append(names, n)
		}
		slices.Sort(names)
		return &folder{files: r, names: names}, nil
	}
	text, ok := r[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &file{Reader: bytes.NewReader(text), info: info{name: name, size: int64(len(text)), mode: 0o444}}, nil
}

type file struct {
	*bytes.Reader
	info info
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }

type folder struct {
	files rendered
	names []string
}

func (d *folder) Stat() (fs.FileInfo, error) {
	return info{name: ".", mode: fs.ModeDir | 0o555}, nil
}
func (d *folder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: ".", Err: fs.ErrInvalid}
}
func (d *folder) Close() error { return nil }

// ReadDir returns the next n entries, or all remaining ones when n <= 0.
func (d *folder) ReadDir(n int) ([]fs.DirEntry, error) {
	take := len(d.names)
	if n > 0 {
		if take == 0 {
			return nil, io.EOF
		}
		take = min(n, take)
	}
	out := make([]fs.DirEntry, take)
	for i, name := range d.names[:take] {
		out[i] = fs.FileInfoToDirEntry(info{name: name, size: int64(len(d.files[name])), mode: 0o444})
	}
	d.names = d.names[take:]
	return out, nil
}

type info struct {
	name string
	size int64
	mode fs.FileMode
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }
